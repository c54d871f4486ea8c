"""Shows how far Spark is with a long stage."""

from threading import Event, Thread

from pyspark import SparkContext

from pipelines.common.progress import Progress

_LOOK_EVERY_S = 1.0


class StageProgress(Thread):
    """Asks Spark every second how many tasks of its oldest running stage are done, until `end`."""

    def __init__(self, context: SparkContext) -> None:
        super().__init__(name="stage-progress", daemon=True)
        self._tracker = context.statusTracker()
        self._ended = Event()

    def run(self) -> None:
        """Looks until `end`."""
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
                progress.reached(stage.numCompletedTasks)

    def end(self) -> None:
        """Ends the thread; call it before the session stops."""
        self._ended.set()
        self.join()
