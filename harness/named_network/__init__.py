"""The network by name: a system in the sandbox reaches the hosts that the person who runs it names, and no others."""
