"""The same rules for columns of millions of rows: numpy, Arrow and DataFrames."""
