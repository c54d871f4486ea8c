"""Changes of the product, each of which must make a test fail (docs/testing.md)."""
