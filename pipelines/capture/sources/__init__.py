"""Contains the sources of a capture, one technology per module. They only read."""
