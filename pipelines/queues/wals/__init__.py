"""Inspects WAL files: their sizes, their tables, and what a queue still has to ship of them."""
