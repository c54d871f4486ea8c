"""Shows how far Spark is with a long stage."""

from contextlib import suppress
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark import SparkContext

from pipelines.common.human import human_count
from pipelines.common.progress import Progress

_LOOK_EVERY_S = 1.0


class StageProgress(Thread):
    """Asks Spark every second how many tasks of its oldest running stage are done, and its rows, until `end`."""

    def __init__(self, context: SparkContext) -> None:
        super().__init__(name="stage-progress", daemon=True)
        self._tracker = context.statusTracker()
        self._store = context._jsc.sc().statusStore()  # noqa: SLF001 - Python's tracker does not count rows
        self._ended = Event()

    def run(self) -> None:
        """Looks until `end`, or until Spark's JVM has ended, which the job itself reports."""
        with suppress(Py4JError):
            self._look()

    def _look(self) -> None:
        shown, progress = None, None
        while not self._ended.wait(_LOOK_EVERY_S):
            stages = sorted(self._tracker.getActiveStageIds())
            stage = self._tracker.getStageInfo(stages[0]) if stages else None
            if progress is not None and (stage is None or stage.stageId != shown):
                progress.end()
                shown, progress = None, None
            if stage is not None:
                if progress is None:
                    shown, progress = stage.stageId, Progress(f"Spark stage {stage.stageId}", stage.numTasks, "tasks")
                progress.reached(stage.numCompletedTasks, self._rows(stage.stageId))

    def _rows(self, stage: int) -> str:
        """Returns the rows that the finished tasks of a stage have read, or written if they read none."""
        with suppress(Py4JError):  # Spark forgets old stages
            seen = self._store.lastStageAttempt(stage)
            rows = max(seen.inputRecords(), seen.shuffleReadRecords(), seen.outputRecords())
            return human_count(rows, "row") if rows else ""
        return ""

    def end(self) -> None:
        """Ends the thread; call it before the session stops."""
        self._ended.set()
        self.join()
