"""The rules of `domain` for columns of millions of rows, in numpy, Arrow and DataFrames."""
