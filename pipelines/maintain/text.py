"""Formats the text output of maintain, from the result that is also the JSON output."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.common.human import human_amount, human_bytes, human_count, human_duration

Json = Mapping[str, Any]
_SHOWN = 10


def maintain_text(result: Json) -> str:
    """Formats the tables, then the directories, then the totals."""
    done = bool(result["executed"])
    lines = [] if done else ["Rehearsal: nothing was changed. --execute does what is listed here.", ""]
    for table in result["tables"]:
        lines += _table(table, done=done)
    lines += ["", *_directories(result, done=done)]
    for error in result["errors"]:
        lines.append(f"! {error['of']}: {error['message']}")
    freed, later = human_bytes(result["freed_bytes"]), human_bytes(result["later_bytes"])
    frees = _verb("Would free", "Freed", done)
    lines.append(f"{frees}: {freed}. VACUUM frees {later} more after the grace for readers.")
    return "\n".join(lines) + "\n"


def _table(table: Json, *, done: bool) -> Iterator[str]:
    now = table.get("now")
    if now is None:
        yield f"{table['table']}: not maintained, see below"
        return
    yield f"{table['table']}: {human_count(now['partitions'], 'night')}, {_held(now)}"
    dropped, compacted, removed = table.get("dropped"), table.get("compacted"), table.get("removed")
    if dropped and dropped["partitions"]:
        nights = human_count(dropped["partitions"], "night")
        keep = human_duration(table["keep_ms"])
        span = dropped["first"] if dropped["first"] == dropped["last"] else f"{dropped['first']} to {dropped['last']}"
        yield f"  retention: {_verb('drops', 'dropped', done)} {nights} older than {keep} ({span}), {_held(dropped)}"
    if table.get("kept_old_nights"):
        yield f"  retention: {human_count(table['kept_old_nights'], 'older night')} kept, still needed or just written"
    if compacted and compacted["partitions"]:
        nights = human_count(compacted["partitions"], "night")
        of = f"{human_amount(compacted['files'], compacted['bytes'], 'small file')}, of {nights}"
        yield f"  compaction: {_verb('merges', 'merged', done)} {of} into about {compacted['files_after']:,}"
    if "new_grace_ms" in table:
        grace = human_duration(table["new_grace_ms"])
        yield f"  vacuum: {_verb('sets', 'set', done)} the grace of removed files to {grace}"
    if removed and removed["files"]:
        of = human_amount(removed["files"], removed["bytes"])
        yield f"  vacuum: {_verb('removes', 'removed', done)} {of}"


def _directories(result: Json, *, done: bool) -> Iterator[str]:
    expired: Sequence[Json] = result["expired"]
    for kind, words in (("list", "list"), ("snapshot", "snapshot"), ("page", "page"), ("leftover", "left-over entry")):
        mine = [one for one in expired if one["kind"] == kind]
        if not mine:
            continue
        size = human_bytes(sum(one["bytes"] for one in mine))
        yield f"{_verb('Removes', 'Removed', done)} {_entries(len(mine), words)}, {size}:"
        yield from _some([f"  {one['uri']} ({one['since'][:10]}, {human_bytes(one['bytes'])})" for one in mine])
    if result["left_alone"]:
        yield f"Left alone: {_entries(len(result['left_alone']), 'other entry')}:"
        yield from _some([f"  {one['uri']}: {one['why']}" for one in result["left_alone"]])


def _entries(number: int, words: str) -> str:
    return human_count(number, words).replace("entrys", "entries")


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"  … and {len(lines) - _SHOWN:,} more (--output json has them all)"


def _held(counted: Json) -> str:
    rows = "rows not counted" if counted["rows"] is None else human_count(counted["rows"], "row")
    return f"{rows}, {human_amount(counted['files'], counted['bytes'])}"


def _verb(would: str, did: str, done: bool) -> str:
    return did if done else would
