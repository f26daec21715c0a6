"""The command line's root and the demo: above every other package."""
