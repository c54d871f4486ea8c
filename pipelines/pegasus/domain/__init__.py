"""Pegasus's file formats and rules, as pure functions over frozen values. They need no Spark."""
