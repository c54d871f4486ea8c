"""Compares two copies of a table: before and after a split, parent and child, or two clusters (invariants D1 to D6)."""
