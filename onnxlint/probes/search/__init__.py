"""Inputs that take another branch."""
