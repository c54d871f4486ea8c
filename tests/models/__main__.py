"""`./tests/run --search`: starts the models from a command line."""

import sys

if __name__ == "__main__":  # each process of the pool imports this module too, and needs nothing of it
    from tests.models.commands import main

    sys.exit(main(sys.argv[1:]))
