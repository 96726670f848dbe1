"""The measures of a run: typed metrics, their labels, and the order in which they are shown."""
