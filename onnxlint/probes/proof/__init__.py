"""Counterexamples that anybody can run again."""
