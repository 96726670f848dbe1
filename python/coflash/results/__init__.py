"""Results: of one run, of a comparison, and of many runs as one database."""
