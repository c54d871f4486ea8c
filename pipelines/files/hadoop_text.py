"""Writes small text files on any Hadoop file system, completely or not at all."""

import uuid
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.common.errors import UnavailableError


def write_text(spark: SparkSession, uri: str, text: str) -> None:
    """Writes a temporary file in the same directory, then renames it; this replaces an older file of that name.

    It uses `FileContext`, whose rename can replace a file in one step; `FileSystem.rename` would refuse. On the local
    disk, `FileContext` removes the older file first, and writes a `.crc` file; the raw file system does neither. It is
    not used where an older file has a `.crc`, which would no longer fit.

    Args:
        spark: the session whose JVM and Hadoop configuration are used.
        uri: the file.
        text: the whole content, written as UTF-8.

    Raises:
        UnavailableError: the file system could not write or rename the file.
    """
    context: Any = spark.sparkContext  # py4j has no types
    jvm, conf = context._jvm, context._jsc.hadoopConfiguration()
    try:
        target = jvm.org.apache.hadoop.fs.Path(uri)
        files = target.getFileSystem(conf)
        target = files.makeQualified(target)
        checksums = jvm.org.apache.hadoop.fs.Path(target.getParent(), f".{target.getName()}.crc")
        raw = files.getRaw() if target.toUri().getScheme() == "file" else None
        if raw is not None and raw.exists(checksums):
            raw = None
        temporary = jvm.org.apache.hadoop.fs.Path(target.getParent(), f".{target.getName()}.{uuid.uuid4().hex}")
        out = (raw or files).create(temporary, True)
        try:
            out.write(bytearray(text.encode("utf-8")))
        finally:
            out.close()
        if raw is not None:
            if not raw.rename(temporary, target):
                raise UnavailableError(f"{uri} cannot be written: it cannot be renamed; check the path and try again")
            return
        rename = jvm.org.apache.hadoop.fs.Options.Rename
        options = context._gateway.new_array(rename, 1)
        options[0] = rename.OVERWRITE
        jvm.org.apache.hadoop.fs.FileContext.getFileContext(target.toUri(), conf).rename(temporary, target, options)
    except Py4JJavaError as error:
        cause = error.java_exception.toString()
        raise UnavailableError(f"{uri} cannot be written: {cause}; check the path and try again") from error
