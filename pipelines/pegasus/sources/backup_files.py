"""Checks the files of a cold backup against what the replica server wrote down when it uploaded them."""

import hashlib
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, SnapshotError, UnavailableError, UsageError
from pipelines.common.forms import OpenForm, read_value
from pipelines.pegasus.domain.encryption import refuse_encrypted

BACKUP_METADATA = "backup_metadata"


class _File(OpenForm):
    name: Annotated[str, Field(pattern=r"^[^/]+$")]
    size: Annotated[int, Field(ge=0)]
    md5: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class _Metadata(OpenForm):
    """`cold_backup_metadata` of Pegasus (`src/replica/backup/cold_backup_context.h`)."""

    checkpoint_decree: int
    files: list[_File]


_METADATA = TypeAdapter(_Metadata)


def check_backup_files(checkpoint: str) -> None:
    """Compares size and MD5 of every file of a checkpoint with its `backup_metadata`.

    Raises:
        UsageError: the metadata are missing or invalid.
        RefusedError: a file is missing, damaged or encrypted.
        UnavailableError: a file cannot be read.
    """
    folder = Path(checkpoint)
    where = folder / BACKUP_METADATA
    try:
        data = where.read_bytes()
        refuse_encrypted(data, str(where))
        for file in read_value(_METADATA, data, str(where)).files:
            _check(folder / file.name, file)
    except SnapshotError as error:
        raise UsageError(f"{error}; copy the checkpoint from the block service again") from None
    except FileNotFoundError:
        raise UsageError(f"{where} is missing, so the checkpoint was not copied completely") from None
    except OSError as error:
        raise UnavailableError(f"{error.filename} cannot be read: {error.strerror}") from None


def _check(path: Path, said: _File) -> None:
    found = "it is missing"
    if path.is_file():
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False))
        if path.stat().st_size == said.size and digest.hexdigest() == said.md5:
            return
        found = f"it has {path.stat().st_size} bytes and MD5 {digest.hexdigest()}"
    raise RefusedError(
        Condition.REPLICA_DAMAGED,
        f"{path}: {found}, but {BACKUP_METADATA} says {said.size} bytes and MD5 {said.md5}. Copy the checkpoint again, "
        "or take another backup",
    )
