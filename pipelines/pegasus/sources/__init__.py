"""Readers of the split jobs."""
