"""The sources of a capture, one technology a module. They only read."""
