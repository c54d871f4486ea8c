"""Shared by every room: errors, instants, readable numbers, strict JSON, small Spark helpers."""
