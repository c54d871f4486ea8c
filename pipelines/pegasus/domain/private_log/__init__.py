"""Reads Apache Pegasus's private logs without Pegasus: blocks, mutations and the writes in them."""
