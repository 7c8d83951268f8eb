"""Bytes → trees: which files are read, how they are read, and what their comments suppress."""
