"""The world of the clean-up: in memory, on disk, and on a real HBase."""
