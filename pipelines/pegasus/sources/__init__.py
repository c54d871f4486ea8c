"""Where the split jobs read from."""
