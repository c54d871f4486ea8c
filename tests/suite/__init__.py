"""How the suite runs: its sizes, its processes, and what a run costs."""
