"""Writes the files of a claim plan."""

from pyspark.sql import SparkSession

from pipelines.files.text_files import write_text


class PlanFiles:
    """Writes a claim plan to a folder of small files, on any file system that Hadoop supports.

    Args:
        spark: the session.
        folder: its URI; created if missing.
    """

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/")

    def write(self, name: str, text: str) -> str:
        """Writes a whole file, replacing an earlier one.

        Returns:
            The URI of the file.

        Raises:
            UnavailableError: the file cannot be written.
        """
        uri = f"{self._folder}/{name}"
        write_text(self._spark, uri, text)
        return uri
