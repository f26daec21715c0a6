"""Folders and archives as web sites on this machine."""
