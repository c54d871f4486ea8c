#!/usr/bin/env bash
# walsafe on Spark: ./spark-submit.sh JOB [options]; --help lists the jobs. docs/install.md tells the rest.
set -euo pipefail

SELF=$(readlink -f "${BASH_SOURCE[0]}")
PROJECT=${SELF%/*}
source "$PROJECT/scripts/environment.sh"

# One entry for both Pythons; -I keeps PYTHONPATH and the current folder out of it.
LAUNCH='import sys; sys.path.insert(0, sys.argv.pop(1)); from jobs.cli.launch.console import launch; launch()'

if [[ ${1-} == --set-up ]]; then
    set_up
    exit 0
fi
if ! is_ready; then
    find_python
    # what needs no package must not install any: --help, --version, a job that does not exist
    if ! "$SYSTEM_PYTHON" -I -c 'import sys; sys.path.insert(0, sys.argv[1]); from jobs.cli.registry import JOBS; sys.exit(sys.argv[2] not in JOBS)' \
        "$PROJECT" "${1-}"; then
        exec "$SYSTEM_PYTHON" -I -B -X utf8 -c "$LAUNCH" "$PROJECT" "$@"
    fi
    set_up
fi
exec "$PROJECT/.venv/bin/python" -I -X utf8 -c "$LAUNCH" "$PROJECT" "$@"
