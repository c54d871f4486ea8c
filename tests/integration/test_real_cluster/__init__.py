"""Captures and decisions on a real HBase 3, compared with its own cleaner; these files share one life of a cluster."""
