"""Reads delete-safe lists; uses nothing of a list before all its digests match."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.common.spark.few_rows import session_for_rows
from pipelines.common.spark.local_frames import local_frame
from pipelines.files.file_reader import file_reader_for
from pipelines.reconcile.delete_list import MANIFEST, Manifest, parse_manifest

_LINES = StructType([StructField("line", StringType())])


class DeleteListReader:
    """The lists below one folder; see `pipelines.cleanup.audit_ports.ManifestReader`."""

    def __init__(self, spark: SparkSession, lists_uri: str) -> None:
        self._spark = spark
        self._root = lists_uri.rstrip("/")

    def manifest(self, cluster: str, run_id: str) -> Manifest:
        """Returns the manifest after checking its parts against their digests.

        Raises:
            RefusedError: there is no complete list, or a part is not the one that was written.
            UnavailableError: the lists cannot be read.
            UsageError: the user must first mend their name, a right or the ticket.
        """
        folder = self._folder(cluster, run_id)
        storage = file_reader_for(self._spark, folder)
        names = {entry.name for entry in storage.entries(folder) or ()}
        if MANIFEST not in names:
            raise RefusedError(
                Condition.LIST_MISSING,
                f"{folder} has no {MANIFEST}: that run wrote no list, or not a whole one. Reconcile again, or check "
                "--lists, --cluster and --run-id",
            )
        where = f"{folder}/{MANIFEST}"
        manifest = parse_manifest(storage.read(where).decode("utf-8", errors="replace"), where)
        named = [part.name for part in manifest.parts]
        extra = sorted(name for name in names - {MANIFEST, *named} if not name.startswith("."))
        if extra or len(set(named)) < len(named):
            raise RefusedError(
                Condition.LIST_DAMAGED,
                f"{folder}/{extra[0] if extra else named[0]} is not a part that the manifest names once: somebody "
                "changed the list. Reconcile again under another --run-id",
            )
        for part in manifest.parts:
            if part.name not in names or storage.sha256(f"{folder}/{part.name}") != part.sha256:
                raise RefusedError(
                    Condition.LIST_DAMAGED,
                    f"{folder}/{part.name} is not the part that was written (its SHA-256 differs, or it is gone): "
                    "somebody changed the list. Reconcile again under another --run-id",
                )
        if sum(part.lines for part in manifest.parts) != manifest.files:
            raise RefusedError(
                Condition.LIST_DAMAGED, f"{where}: its parts have not as many lines as it has files. Reconcile again"
            )
        return manifest

    def lines(self, manifest: Manifest) -> DataFrame:
        """Returns the lines of all parts: `line`."""
        folder = self._folder(manifest.cluster, manifest.run_id)
        if not manifest.parts:
            return local_frame(self._spark, [], _LINES)
        parts = [f"{folder}/{part.name}" for part in manifest.parts]
        spark = session_for_rows(self._spark, manifest.files)
        return spark.read.option("lineSep", "\n").text(parts).select(F.col("value").alias("line"))

    def _folder(self, cluster: str, run_id: str) -> str:
        return f"{self._root}/{cluster}/{run_id}"
