"""Reads WALs on Spark executors, one file per task."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from pipelines.files.executor_streams import NotThereError, open_file
from pipelines.files.hadoop_jvm import HadoopJvm, hadoop_configuration
from pipelines.hbase.server_names import SPLITTING
from pipelines.queues.wals.rows import GONE, UNREADABLE, InspectedFile
from pipelines.queues.wals.tally import tally_wal

_MOST_TASKS = 10_000


def read_wals(
    spark: SparkSession, wal_root: str, files: Sequence[InspectedFile], cuts: Mapping[str, frozenset[int]]
) -> Sequence[InspectedFile]:
    """Returns the same files with their contents, or with the fault that prevented reading.

    Only the small tallies return to the driver.

    A WAL below `WALs/` that has been moved since the listing is read from where HBase moves it.

    Args:
        spark: reads them with an RDD.
        wal_root: full URI, without a trailing slash.
        files: as listed.
        cuts: by WAL name, offsets at which the tally is split.
    """
    if not files:
        return []
    # largest files first, so that no large one runs last
    order = sorted(range(len(files)), key=lambda index: -files[index].length)
    tasks = [
        (files[index], possible_uris(wal_root, files[index]), cuts.get(files[index].name.name, frozenset()))
        for index in order
    ]
    conf = hadoop_configuration(HadoopJvm.of(spark))
    context = spark.sparkContext
    shared = context.broadcast(conf)
    answers: list[InspectedFile] = (
        context.parallelize(tasks, min(len(tasks), _MOST_TASKS))
        .map(lambda task: inspect_wal(*task, shared.value))
        .collect()
    )
    shared.unpersist()
    answered = dict(zip(order, answers, strict=True))
    return [answered[index] for index in range(len(files))]


def inspect_wal(file: InspectedFile, uris: Sequence[str], cuts: frozenset[int], hadoop_conf: str) -> InspectedFile:
    """Returns a file with its contents, or with the fault that prevented reading; an executor runs this task.

    Args:
        file: as listed.
        uris: possible URIs of the file; the first that exists is read.
        cuts: offsets at which the tally is split.
        hadoop_conf: the text of a `core-site.xml` with the driver's Hadoop configuration.
    """
    for uri in uris:
        try:
            with open_file(uri, hadoop_conf) as read:
                return replace(file, contents=tally_wal(read, cuts))
        except NotThereError:
            continue
        except OSError as error:  # also of this machine's disk
            return replace(file, fault=UNREADABLE, problem=str(error))
    return replace(file, fault=GONE, problem=f"it is neither there nor archived: {', '.join(uris)}")


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
