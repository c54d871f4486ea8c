"""Snapshot format 1: the model, the order of its steps, the writer, the reader, the extras."""
