"""Writes delete-safe lists: `<lists>/<cluster>/<run_id>/part-00000.txt …`, manifest.json last.

The lines of all clusters of a run are first written into hidden folders beside the lists: short lists by the driver,
which gets the text of each from Spark, long ones by one Spark job. Then one rename makes the folder of each cluster
appear, and another its manifest. This module deletes nothing: it moves a half-made folder of a dead run aside under a
hidden name, and leaves a fleet's emptied staging folder.
"""

import logging
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.common.spark.few_rows import few
from pipelines.common.spark.local_frames import local_frame
from pipelines.common.spark.local_rows import local_rows
from pipelines.files.file_reader import HadoopFileReader
from pipelines.files.hadoop_jvm import java_cause
from pipelines.files.text_files import text_files_for
from pipelines.reconcile.delete_list import (
    MANIFEST,
    ListPart,
    ListRequest,
    Manifest,
    StagedLines,
    StagedLists,
    manifest_json,
    parse_manifest,
    part_name,
)
from pipelines.reconcile.list_parts import LINES_PER_PART, ListSize, part_plan, partition_key, sampled_lines

_LOG = logging.getLogger(__name__)
_WRITERS = 8
_TEXTS_AT_ONCE = 16
_ROOTS = StructType().add("cluster", "string").add("root", "string")
_ROOTS_AND_PARTITIONS = StructType([*_ROOTS.fields]).add("first", "integer")


class DeleteListWriter:
    """The delete-safe lists below one folder, on any Hadoop file system."""

    def __init__(self, spark: SparkSession, lists_uri: str) -> None:
        self._spark = spark
        self._root = lists_uri.rstrip("/")
        self._files = text_files_for(spark, self._root)
        self._reader = HadoopFileReader(spark)

    def uri(self, cluster: str, run_id: str) -> str:
        """Returns the folder of one list."""
        return f"{self._root}/{cluster}/{run_id}"

    def existing(self, cluster: str, run_id: str) -> Manifest | None:
        """Returns the manifest of a published list, or None.

        Raises:
            UnavailableError: the lists cannot be read.
            UsageError: the user must first mend their name, a right or the ticket.
            RefusedError: manifest.json is not a valid manifest.
        """
        uri = f"{self.uri(cluster, run_id)}/{MANIFEST}"
        try:
            text = self._files.read(uri)
        except UnavailableError as error:
            raise _unavailable(uri, error) from error
        return None if text is None else parse_manifest(text, uri)

    def stage(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> StagedLists:
        """Writes the lines of these clusters' lists to hidden folders, where nothing can mistake them for lists.

        Args:
            deletable: `cluster`, `path` of the files to list; many are read twice.
            requests: one for each cluster.

        Raises:
            UnavailableError: the file system failed to write them.
            UsageError: Hadoop has no file system for the name of the lists.
        """
        listed = [one for one in requests if one.files]
        try:
            lines = self._short(deletable, [one for one in listed if few(one.files)])
            return StagedLists(
                tuple(requests), lines | self._long(deletable, [one for one in listed if not few(one.files)])
            )
        except (Py4JJavaError, UnavailableError) as error:
            raise _unavailable(self._root, error) from error

    def publish(self, staged: StagedLists) -> Mapping[str, Manifest]:
        """Publishes the staged lines as lists, each list complete or not at all.

        Returns:
            The manifest of each cluster.

        Raises:
            UnavailableError: the file system failed, or the number of lines differs from what the gate passed.
        """
        with ThreadPoolExecutor(_WRITERS) as pool:
            manifests = pool.map(lambda one: self._publish(one, staged.lines.get(one.cluster)), staged.requests)
            return {manifest.cluster: manifest for manifest in manifests}

    def _short(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> dict[str, StagedLines]:
        """Writes each list as one file, a few lists at a time, whatever the size of the fleet."""
        roots = {one.cluster: one.wal_root for one in requests}
        texts = iter(self._texts(deletable, roots, sum(one.files for one in requests)) if roots else ())
        written: dict[str, StagedLines] = {}
        with ThreadPoolExecutor(_WRITERS) as pool:
            while batch := list(islice(texts, _TEXTS_AT_ONCE)):
                written |= pool.map(self._write, batch)
        return written

    def _texts(self, deletable: DataFrame, roots: Mapping[str, str], files: int) -> Iterator[tuple[str, str]]:
        """Yields the text of each cluster's list; of few lines without a Spark job."""
        if few(files):
            lines: dict[str, list[str]] = defaultdict(list)
            for row in deletable.filter(F.col("cluster").isin(list(roots))).collect():
                lines[row["cluster"]].append(f"{roots[row['cluster']]}/{row['path']}\n")
            yield from ((cluster, "".join(sorted(own))) for cluster, own in lines.items())
            return
        sorted_lines = F.array_sort(F.collect_list(F.concat("root", F.lit("/"), "path", F.lit("\n"))))
        texts = (
            self._joined(deletable, roots.items(), _ROOTS)
            .repartition(1 + files // LINES_PER_PART, "cluster")
            .groupBy("cluster")
            .agg(F.array_join(sorted_lines, "").alias("text"))
        )
        for row in local_rows(texts):
            yield row["cluster"], row["text"]

    def _write(self, own: tuple[str, str]) -> tuple[str, StagedLines]:
        cluster, text = own
        folder, name = f"{self._root}/{cluster}/.staging-{uuid.uuid4().hex}", part_name(0)
        self._files.write(f"{folder}/{name}", text)
        part = ListPart(name, text.count("\n"), sha256(text.encode()).hexdigest())
        return cluster, StagedLines(folder, (part,))

    def _joined(self, deletable: DataFrame, rows: Iterable[tuple[object, ...]], schema: StructType) -> DataFrame:
        """Adds the columns of these rows, one for each cluster; other clusters are left out."""
        # a join, because a CASE expression for thousands of clusters is too deep for Spark
        return deletable.join(F.broadcast(local_frame(self._spark, rows, schema)), "cluster")

    def _long(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> dict[str, StagedLines]:
        """Writes the lines of long lists in one Spark job."""
        if not requests:
            return {}
        staging, folders = self._write_lines(deletable, requests)
        counts = self._line_counts(staging)
        return {cluster: StagedLines(folder, self._numbered(folder, counts)) for cluster, folder in folders.items()}

    def _write_lines(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> tuple[str, Mapping[str, str]]:
        """Writes the lines; returns their folder, and in or below it that of each cluster.

        The folder of a cluster without any line does not exist.
        """
        sizes = [ListSize(one.cluster, one.files) for one in requests]
        samples: dict[str, list[str]] = {}
        if any(size.parts > 1 for size in sizes):
            for row in sampled_lines(deletable, sizes).collect():
                samples.setdefault(row["cluster"], []).append(row["path"])
        plan = part_plan(sizes, samples)
        lists = ((one.cluster, one.wal_root, plan.first[one.cluster]) for one in requests)
        values = self._joined(deletable, lists, _ROOTS_AND_PARTITIONS).select(
            "cluster", F.concat("root", F.lit("/"), "path").alias("value"), plan.partition().alias("to")
        )
        lines = values.repartition(
            plan.partitions, partition_key(self._spark, plan.partitions, F.col("to"))
        ).sortWithinPartitions("cluster", "value")
        name = f".staging-{uuid.uuid4().hex}"
        options = {"compression": "none", "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
        if len(requests) == 1:
            folder = f"{self._root}/{requests[0].cluster}/{name}"
            lines.select("value").write.options(**options).text(folder)
            return folder, {requests[0].cluster: folder}
        staging = f"{self._root}/{name}"
        lines.select("cluster", "value").write.partitionBy("cluster").options(**options).text(staging)
        return staging, {size.cluster: f"{staging}/cluster={size.cluster}" for size in sizes}

    def _line_counts(self, staging: str) -> Mapping[str, int]:
        """Returns the line count of each written file by its name, which contains the number of its Spark task."""
        counts = self._spark.read.text(staging).groupBy("_metadata.file_name").count()
        return {row["file_name"]: row["count"] for row in counts.collect()}

    def _numbered(self, folder: str, counts: Mapping[str, int]) -> tuple[ListPart, ...]:
        """Renames Spark's files to part names in the order of their partitions; an empty file gets a hidden name."""
        parts: list[ListPart] = []
        for name in [one.name for one in self._reader.entries(folder) or () if one.name.startswith("part-")]:
            lines = counts.get(name, 0)
            if lines == 0:
                self._files.rename(f"{folder}/{name}", f"{folder}/.empty-{name}")
                continue
            target = part_name(len(parts))
            self._files.rename(f"{folder}/{name}", f"{folder}/{target}")
            parts.append(ListPart(target, lines, self._reader.sha256(f"{folder}/{target}")))
        return tuple(parts)

    def _publish(self, request: ListRequest, staged: StagedLines | None) -> Manifest:
        final = self.uri(request.cluster, request.run_id)
        standing = self.existing(request.cluster, request.run_id)
        if standing is not None:
            return _same_list(standing, request, final)
        lines = sum(part.lines for part in staged.parts) if staged else 0
        if lines != request.files:
            raise UnavailableError(
                f"{final}: {lines} lines written, but the gate passed {request.files}; no manifest was written. "
                "Run reconcile again"
            )
        manifest = Manifest(
            cluster=request.cluster,
            cluster_id=request.cluster_id,
            run_id=request.run_id,
            snapshot_sha256=request.snapshot_sha256,
            decided_at=request.decided_at,
            not_after=request.not_after,
            files=request.files,
            bytes=request.bytes,
            parts=staged.parts if staged else (),
        )
        folder = staged.folder if staged else f"{self._root}/{request.cluster}/.staging-{uuid.uuid4().hex}"
        # the manifest is written hidden into the staged folder: another run that moves the folder aside takes the
        # manifest along, and the last rename fails instead of leaving a manifest without parts
        hidden = f".manifest-{uuid.uuid4().hex}"
        try:
            self._move_aside(final)
            self._files.write(f"{folder}/{hidden}", manifest_json(manifest))
            self._files.make_directories(final.rpartition("/")[0])
            self._files.rename(folder, final)
            self._files.rename(f"{final}/{hidden}", f"{final}/{MANIFEST}")
        except UnavailableError as error:
            raise _unavailable(self._root, error) from error
        return manifest

    def _move_aside(self, final: str) -> None:
        if self._files.exists(final):
            parent, _, name = final.rpartition("/")
            aside = f"{parent}/.unfinished-{name}-{uuid.uuid4().hex}"
            _LOG.warning("%s was left without a manifest by a run that died; moved to %s", final, aside)
            self._files.rename(final, aside)


def _same_list(standing: Manifest, request: ListRequest, final: str) -> Manifest:
    """Returns the published list if it is the requested one: an earlier run died after it, or another was faster.

    Raises:
        RefusedError: it is a different list.
    """
    asked = (request.snapshot_sha256, request.files, request.bytes)
    if (standing.snapshot_sha256, standing.files, standing.bytes) != asked:
        raise RefusedError(
            Condition.RUN_ID_TAKEN,
            f"{final} already holds another list of {standing.files} files, which is never replaced; "
            "give another --run-id",
        )
    return standing


def _unavailable(uri: str, error: Py4JJavaError | UnavailableError) -> UnavailableError:
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    return UnavailableError(
        f"{uri}: the list cannot be read or written ({java_cause(cause)}); "
        "a list stands only where its manifest.json does; run again",
        condition=error.condition if isinstance(error, UnavailableError) else Condition.UNAVAILABLE,
    )
