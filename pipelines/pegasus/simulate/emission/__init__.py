"""Writes the traces of a whole table's split in the formats of the jobs: rows, states, logs, a journal, facts.

Each partition of the table is one group of the model with its own history; the histories run in parallel.
"""
