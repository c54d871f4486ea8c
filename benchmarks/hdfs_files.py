"""Empty files in HDFS, many at a time: made by Spark's JVM, so that no call of Python stands between two of them."""

from collections.abc import Iterable
from itertools import islice

from pyspark.sql import SparkSession

from pipelines.cleanup.stores.java_handles import JavaHandles, JavaLoop
from pipelines.files.hadoop_jvm import HadoopJvm

CHUNK = 10_000
THREADS = 8


def make_files(spark: SparkSession, root: str, paths: Iterable[str]) -> int:
    """Makes them, and their directories; how many there are.

    Args:
        spark: its JVM makes them.
        root: URI of a directory.
        paths: below it; none may exist.

    Raises:
        SystemExit: one could not be made.
    """
    hadoop = HadoopJvm.of(spark)
    handles = JavaHandles(hadoop)
    path = "org.apache.hadoop.fs.Path"
    files = hadoop.path(root).getFileSystem(hadoop.conf)
    create = handles.virtual("org.apache.hadoop.fs.FileSystem", "createNewFile", "boolean", path).bindTo(files)
    text = handles.static("java.lang.String", "valueOf", "java.lang.String", "boolean")
    remaining, made = iter(paths), 0
    loop = JavaLoop(handles, THREADS)
    try:
        while chunk := [f"{root}/{name}" for name in islice(remaining, CHUNK)]:
            step = handles.then(handles.texts(chunk), handles.constructor(path, "java.lang.String"), create, text)
            if loop.run(step, len(chunk)) != ["true"] * len(chunk):
                raise SystemExit("the files could not be made")
            made += len(chunk)
    finally:
        loop.close()
    return made
