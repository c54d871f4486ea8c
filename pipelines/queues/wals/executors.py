"""Reads WALs on Spark executors, one file per task."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from pipelines.files.hadoop_jvm import HadoopJvm, hadoop_configuration
from pipelines.hbase.server_names import SPLITTING
from pipelines.queues.wals.inspected import WalAnswer, WalTask, inspect_wal
from pipelines.queues.wals.rows import InspectedFile

_MOST_TASKS = 10_000


class SparkWalContents:
    """Reads the content of many WALs with an RDD; only the small tallies return to the driver."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def read(
        self, wal_root: str, files: Sequence[InspectedFile], cuts: Mapping[str, frozenset[int]]
    ) -> Sequence[InspectedFile]:
        """Returns the same files with their contents, or with the fault that prevented reading.

        A WAL below `WALs/` that has been moved since the listing is read from where HBase moves it.

        Args:
            wal_root: full URI, without a trailing slash.
            files: as listed.
            cuts: by WAL name, offsets at which the tally is split.
        """
        if not files:
            return []
        # largest files first, so that no large one runs last
        order = sorted(range(len(files)), key=lambda index: -files[index].length)
        tasks = [
            WalTask(possible_uris(wal_root, files[index]), cuts.get(files[index].name.name, frozenset()))
            for index in order
        ]
        conf = hadoop_configuration(HadoopJvm.of(self._spark))
        context = self._spark.sparkContext
        shared = context.broadcast(conf)
        answers: list[WalAnswer] = (
            context.parallelize(tasks, min(len(tasks), _MOST_TASKS))
            .map(lambda task: inspect_wal(task, shared.value))
            .collect()
        )
        shared.unpersist()
        answered = dict(zip(order, answers, strict=True))
        return [
            replace(
                file, contents=answered[index].contents, fault=answered[index].fault, problem=answered[index].problem
            )
            for index, file in enumerate(files)
        ]


def possible_uris(wal_root: str, file: InspectedFile) -> tuple[str, ...]:
    """Returns the URIs where a WAL may be by now (`AbstractFSWALProvider.findArchivedLog`).

    While a server crashes, its directory is called `<server>-splitting`.
    """
    places = [file.path]
    if file.path.startswith("WALs/"):
        directory = file.path.rpartition("/")[0]
        if not directory.endswith(SPLITTING):
            places.append(f"{directory}{SPLITTING}/{file.name.name}")
        places.append(f"oldWALs/{file.name.name}")
        if file.name.server is not None:
            places.append(f"oldWALs/{file.name.server}/{file.name.name}")
    return tuple(f"{wal_root}/{place}" for place in places)
