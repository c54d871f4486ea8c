"""What stands in WAL files, as far as an operator asks: how much, of which tables, what a queue still has to ship."""
