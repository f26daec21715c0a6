"""All results scored again: what moved and why, whether every number can be made again, systems run again."""
