"""What every part that uses a network shares: which addresses are public, and why a connection failed."""
