"""The packages that a system brings: pinned wheels, downloaded without running them, and mounted in the sandbox."""
