"""The result of one system on one split: its record, its file, and folders of such files."""
