"""What a run collects, and where in a run the analysis is."""
