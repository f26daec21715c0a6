"""Scorecards in, a static site out: nothing here knows a gold answer or opens a connection."""
