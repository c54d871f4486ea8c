"""Thin entry points: arguments to configuration to one use case to an exit code."""
