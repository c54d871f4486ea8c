"""Compares the private logs of parents and children, and decides which logs may be deleted (docs/split-rules.md)."""
