"""Private logs of parents and children against each other, and which of them may be deleted (docs/split-rules.md)."""
