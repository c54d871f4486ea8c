"""What every room uses: errors, instants, numbers for people, strict JSON, small Spark helpers."""
