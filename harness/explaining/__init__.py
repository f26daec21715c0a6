"""One answer explained, and where a system's points went."""
