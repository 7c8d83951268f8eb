"""The static analysis: an abstract interpreter over functions, and the observations it sees."""
