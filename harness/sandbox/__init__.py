"""The sandbox that a stranger's system runs in: what it sees, what it may call, and the caps on what it uses."""
