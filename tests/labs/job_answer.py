"""What a job of the command line answers."""

import json
from pathlib import Path
from typing import Any

from jobs.cli.context import JobContext
from jobs.cli.entry import main


def job_answer(context: JobContext, folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Runs the job of the context; returns its exit code and the result object, empty if it wrote none.

    Args:
        context: with Spark, and the job's name.
        folder: where the job writes its result.
        options: of the job.
    """
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    code = main([context.job, *options, "--result", str(result)], context=context)
    return code, json.loads(result.read_text()) if result.exists() else {}
