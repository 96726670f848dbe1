"""Files: atomic writes, and files by URL."""
