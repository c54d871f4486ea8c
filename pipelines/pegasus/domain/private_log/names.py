"""Parses the names of private logs and of replica directories (`mutation_log_utils.cpp`, `replica_stub.cpp`)."""

import re
from dataclasses import dataclass

from pipelines.common.errors import MalformedError

_LOG = re.compile(r"log\.([0-9]{1,19})\.([0-9]{1,19})")
_REPLICA = re.compile(r"(\d{1,10})\.(\d{1,10})\.[a-z]+")
_INT = 1 << 31  # Pegasus keeps both ids in 32 signed bits
DISCARDED = (".err", ".gar", ".bak", ".ori", ".tmp")
"""Suffixes of replica directories that a server has put aside."""


@dataclass(frozen=True, slots=True, order=True)
class LogName:
    """The parts of `log.<index>.<start offset>`: the index counts from 1.

    The offset continues through all logs of a replica.
    """

    index: int
    start_offset: int

    def __str__(self) -> str:
        return f"log.{self.index}.{self.start_offset}"


@dataclass(frozen=True, slots=True, order=True)
class Gpid:
    """A partition: table id and partition index."""

    app_id: int
    partition: int

    def __str__(self) -> str:
        return f"{self.app_id}.{self.partition}"


def parse_log_name(name: str) -> LogName:
    """Parses the name of a log. A name with a suffix is none, for Pegasus too (`log_file::parse_log_file_name`).

    Raises:
        MalformedError: this is not the name of a private log.
    """
    found = _LOG.fullmatch(name)
    if found is None:
        raise MalformedError(f"{name!r} is not the name of a private log: log.<index>.<start offset>")
    return LogName(int(found[1]), int(found[2]))


def is_log_name(name: str) -> bool:
    """Returns whether this is the name of a log; Pegasus reads no other file of the directory."""
    return _LOG.fullmatch(name) is not None


def parse_replica_name(name: str) -> Gpid:
    """Returns the partition of a replica directory such as `2.5.pegasus`.

    Raises:
        MalformedError: this is not the name of a replica directory, or a server has put the directory aside.
    """
    found = _REPLICA.fullmatch(name)
    if found is None or name.endswith(DISCARDED) or int(found[1]) >= _INT or int(found[2]) >= _INT:
        raise MalformedError(f"{name!r} is not the name of a replica directory: <app id>.<partition>.pegasus")
    return Gpid(int(found[1]), int(found[2]))
