"""Where the split jobs write to."""
