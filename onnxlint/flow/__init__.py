"""The static analysis: an abstract interpreter over functions, and the facts it sees."""
