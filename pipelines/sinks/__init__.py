"""Writers: Delta tables, delete-safe lists, reports, metrics."""
