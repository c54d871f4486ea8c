"""Applies the rules of `domain` to columns of millions of rows, in numpy, Arrow and DataFrames."""
