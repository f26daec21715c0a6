"""The sandbox for untrusted systems: the files that they see, the calls that they may make, and the caps on them."""
