"""Transfer functions: what torch's operators return."""
