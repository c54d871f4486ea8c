"""Pegasus's own formats and rules: pure functions over frozen values, the standard library only."""
