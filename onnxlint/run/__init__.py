"""A run from paths to reports, and what is done with its findings; pipeline.py is where to begin reading."""
