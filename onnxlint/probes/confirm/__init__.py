"""Exported files in their runtimes, against eager."""
