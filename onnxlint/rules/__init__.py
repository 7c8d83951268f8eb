"""The libcst pass: rules look at libcst trees with what the dataflow observed, and mend them there."""
