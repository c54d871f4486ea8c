"""Writes delete-safe lists: `<lists>/<cluster>/<run_id>/part-00000.txt …`, manifest.json last.

The lines of all clusters of a run are first written into hidden folders beside the lists, few lines by the driver, many
by one Spark job. Then one rename makes the folder of each cluster appear, and another its manifest. This module deletes
nothing: it moves a half-made folder of a dead run aside under a hidden name, and leaves a fleet's emptied staging
folder.
"""

import logging
import uuid
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.common.spark.few_rows import few
from pipelines.common.spark.local_frames import local_frame
from pipelines.files.hadoop_jvm import java_cause
from pipelines.files.hadoop_text import write_text
from pipelines.reconcile.delete_list import MANIFEST, ListPart, Manifest, manifest_json, parse_manifest, part_name
from pipelines.reconcile.list_parts import ListSize, part_plan, sampled_lines
from pipelines.reconcile.ports import ListRequest, StagedLists

_LOG = logging.getLogger(__name__)
_RENAMERS = 8
_ROOTS = StructType([StructField("cluster", StringType()), StructField("root", StringType())])


class DeleteListWriter:
    """The delete-safe lists below one folder, on any Hadoop file system."""

    def __init__(self, spark: SparkSession, lists_uri: str) -> None:
        self._spark = spark
        self._root = lists_uri.rstrip("/")
        context: Any = spark.sparkContext  # py4j has no types
        self._gateway: Any = context._gateway  # noqa: SLF001
        self._jvm: Any = context._jvm  # noqa: SLF001
        self._configuration: Any = context._jsc.hadoopConfiguration()  # noqa: SLF001

    def uri(self, cluster: str, run_id: str) -> str:
        """Returns the folder of one list."""
        return f"{self._root}/{cluster}/{run_id}"

    def existing(self, cluster: str, run_id: str) -> Manifest | None:
        """Returns the manifest of a published list, or None.

        Raises:
            UnavailableError: the lists cannot be read.
            RefusedError: manifest.json is not a valid manifest.
        """
        uri = f"{self.uri(cluster, run_id)}/{MANIFEST}"
        try:
            path = self._path(uri)
            files = path.getFileSystem(self._configuration)
            if not files.exists(path):
                return None
            stream = files.open(path)
            try:
                text = str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise _unavailable(uri, error) from error
        return parse_manifest(text, uri)

    def stage(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> StagedLists:
        """Writes the lines of these clusters' lists to hidden folders, where nothing can mistake them for lists.

        Args:
            deletable: `cluster`, `path` of the files to list; many are read twice.
            requests: one for each cluster.

        Raises:
            UnavailableError: the file system failed to write them.
        """
        listed = [one for one in requests if one.files]
        try:
            if few(sum(one.files for one in listed)):
                return StagedLists(tuple(requests), *self._write_few(deletable, listed))
            folders = self._write_lines(deletable, listed)
            return StagedLists(tuple(requests), folders, self._line_counts(folders.values()))
        except (Py4JJavaError, UnavailableError) as error:
            raise _unavailable(self._root, error) from error

    def publish(self, staged: StagedLists) -> Mapping[str, Manifest]:
        """Publishes the staged lines as lists, each list complete or not at all.

        Returns:
            The manifest of each cluster.

        Raises:
            UnavailableError: the file system failed, or the number of lines differs from what the gate passed.
        """
        try:
            with ThreadPoolExecutor(_RENAMERS) as pool:
                manifests = pool.map(
                    lambda one: self._publish(one, staged.folders.get(one.cluster), staged.counts), staged.requests
                )
                return {manifest.cluster: manifest for manifest in manifests}
        except Py4JJavaError as error:
            raise _unavailable(self._root, error) from error

    def _write_few(
        self, deletable: DataFrame, requests: Sequence[ListRequest]
    ) -> tuple[Mapping[str, str], Mapping[str, int]]:
        """Writes each cluster's lines as one file; returns its folder, and line counts as `_line_counts` does."""
        lines: dict[str, list[str]] = {one.cluster: [] for one in requests}
        roots = {one.cluster: one.wal_root for one in requests}
        for row in deletable.filter(F.col("cluster").isin(list(lines))).collect() if lines else ():
            lines[row["cluster"]].append(f"{roots[row['cluster']]}/{row['path']}\n")
        names = {cluster: f".staging-{uuid.uuid4().hex}" for cluster in lines}
        folders = {cluster: f"{self._root}/{cluster}/{name}" for cluster, name in names.items()}

        def write(cluster: str) -> None:
            text = "".join(sorted(lines[cluster], key=str.encode))
            write_text(self._spark, f"{folders[cluster]}/part-00000", text)

        with ThreadPoolExecutor(_RENAMERS) as pool:
            list(pool.map(write, lines))
        return folders, {f"{names[cluster]}/part-00000": len(own) for cluster, own in lines.items()}

    def _write_lines(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> Mapping[str, str]:
        """Writes all lines in one Spark job, and returns the folder of each cluster's lines."""
        sizes = [ListSize(one.cluster, one.files) for one in requests]
        samples: dict[str, list[str]] = {}
        if any(size.parts > 1 for size in sizes):
            for row in sampled_lines(deletable, sizes).toLocalIterator():
                samples.setdefault(row["cluster"], []).append(row["path"])
        plan = part_plan(sizes, samples)
        # a join, because a CASE expression for thousands of clusters is too deep for Spark
        roots = local_frame(self._spark, [(one.cluster, one.wal_root) for one in requests], _ROOTS)
        lines = (
            deletable.join(F.broadcast(roots), "cluster")
            .select("cluster", F.concat("root", F.lit("/"), "path").alias("value"), plan.partition().alias("to"))
            .repartitionById(plan.partitions, F.col("to"))
            .sortWithinPartitions("cluster", "value")
        )
        name = f".staging-{uuid.uuid4().hex}"
        options = {"compression": "none", "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
        if len(requests) == 1:
            folder = f"{self._root}/{requests[0].cluster}/{name}"
            lines.select("value").write.options(**options).text(folder)
            return {requests[0].cluster: folder}
        staging = f"{self._root}/{name}"
        lines.select("cluster", "value").write.partitionBy("cluster").options(**options).text(staging)
        return {size.cluster: f"{staging}/cluster={size.cluster}" for size in sizes}

    def _line_counts(self, folders: Collection[str]) -> Mapping[str, int]:
        """Returns the line count of each written file by folder and file name.

        The folder is part of the key because one task gives its files in several folders the same name.
        """
        lines = self._spark.read.option("recursiveFileLookup", "true").text(list(folders))
        place = F.substring_index("_metadata.file_path", "/", -2)
        return {row["place"]: row["count"] for row in lines.groupBy(place.alias("place")).count().collect()}

    def _publish(self, request: ListRequest, folder: str | None, counts: Mapping[str, int]) -> Manifest:
        final = self.uri(request.cluster, request.run_id)
        standing = self.existing(request.cluster, request.run_id)
        if standing is not None:
            return _same_list(standing, request, final)
        self._move_aside(final)
        staged = folder or f"{self._root}/{request.cluster}/.staging-{uuid.uuid4().hex}"
        self._filesystem(staged).mkdirs(self._path(staged))
        parts = self._numbered(staged, counts)
        lines = sum(part.lines for part in parts)
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
            parts=parts,
        )
        # the manifest is written hidden into the staged folder: another run that moves the folder aside takes the
        # manifest along, and the last rename fails instead of leaving a manifest without parts
        hidden = f".manifest-{uuid.uuid4().hex}"
        write_text(self._spark, f"{staged}/{hidden}", manifest_json(manifest))
        self._filesystem(final).mkdirs(self._path(final).getParent())
        self._rename(staged, final)
        self._rename(f"{final}/{hidden}", f"{final}/{MANIFEST}")
        return manifest

    def _numbered(self, folder: str, counts: Mapping[str, int]) -> tuple[ListPart, ...]:
        """Renames Spark's files to part names in the order of their partitions; an empty file gets a hidden name."""
        names = sorted(
            status.getPath().getName()
            for status in self._filesystem(folder).listStatus(self._path(folder))
            if status.getPath().getName().startswith("part-")
        )
        parts: list[ListPart] = []
        for name in names:
            lines = counts.get(f"{folder.rpartition('/')[2]}/{name}", 0)
            if lines == 0:
                self._rename(f"{folder}/{name}", f"{folder}/.empty-{name}")
                continue
            target = part_name(len(parts))
            self._rename(f"{folder}/{name}", f"{folder}/{target}")
            parts.append(ListPart(target, lines, self._sha256(f"{folder}/{target}")))
        return tuple(parts)

    def _sha256(self, uri: str) -> str:
        """Returns the SHA-256 of a part, streamed through the JVM."""
        stream = self._filesystem(uri).open(self._path(uri))
        try:
            return str(self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def _move_aside(self, final: str) -> None:
        path = self._path(final)
        if self._filesystem(final).exists(path):
            aside = f"{path.getParent().toString()}/.unfinished-{path.getName()}-{uuid.uuid4().hex}"
            _LOG.warning("%s was left without a manifest by a run that died; moved to %s", final, aside)
            self._rename(final, aside)

    def _rename(self, source: str, target: str) -> None:
        """Renames with `FileContext.rename` without OVERWRITE, which fails if the target exists."""
        options = self._gateway.new_array(self._jvm.org.apache.hadoop.fs.Options.Rename, 0)
        path = self._path(source)
        files = path.getFileSystem(self._configuration)
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(files.getUri(), self._configuration)
        context.rename(files.makeQualified(path), files.makeQualified(self._path(target)), options)

    def _path(self, uri: str) -> Any:  # noqa: ANN401 - a Java object
        return self._jvm.org.apache.hadoop.fs.Path(uri)

    def _filesystem(self, uri: str) -> Any:  # noqa: ANN401 - a Java object
        return self._path(uri).getFileSystem(self._configuration)


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
    cause = error.__cause__ if isinstance(error, UnavailableError) and isinstance(error.__cause__, Exception) else error
    return UnavailableError(
        f"{uri}: the list cannot be read or written ({java_cause(cause)}); "
        "a list stands only where its manifest.json does; run again"
    )
