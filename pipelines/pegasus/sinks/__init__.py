"""Writers of the split jobs."""
