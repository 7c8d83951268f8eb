"""Export calls: what is exported, in which mode, with which inputs and axes."""
