"""Records played ranges of seeds in a file, a JSON object a line; a run that was stopped continues with the others."""

import json
from dataclasses import asdict
from pathlib import Path

from pipelines.common.errors import UnavailableError, UsageError
from tests.models.capture.batch import Played, Violation


class Record:
    """The ranges that one mutant has played with one state of the code."""

    def __init__(self, file: Path | None, mutant: str, code: str) -> None:
        """Creates the record; `file` is the file in which it is kept, None = it is not kept."""
        self._file = file
        self._of = {"mutant": mutant, "code_sha256": code}

    def played(self) -> dict[int, Played]:
        """Returns the ranges by their first seed; removes a last line that a stopped run has not completed.

        Raises:
            UsageError: the file has a line that no run has written.
            UnavailableError: the file cannot be read or written.
        """
        if self._file is None or not self._file.exists():
            return {}
        try:
            text = self._file.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]
            if whole != text:
                self._file.write_text(whole, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UnavailableError(f"--record {self._file}: {error}") from error
        rows = [self._range(number, line) for number, line in enumerate(whole.splitlines(), start=1)]
        return {one.first_seed: one for one in rows if one is not None}

    def _range(self, number: int, line: str) -> Played | None:
        """Returns the range of a line; None = another mutant or other code has played it."""
        try:
            row = json.loads(line)
            if {name: row.pop(name) for name in self._of} != self._of:
                return None
            violations = tuple(Violation(**violation) for violation in row.pop("violations"))
            return Played(**row, violations=violations)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UsageError(
                f"--record {self._file}, line {number}: not a range of seeds that was played; give another file"
            ) from None

    def keep(self, played: Played) -> None:
        """Writes one range.

        Raises:
            UnavailableError: the file cannot be written.
        """
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({**self._of, **asdict(played)}) + "\n")
        except OSError as error:
            raise UnavailableError(f"--record {self._file}: {error}") from error
