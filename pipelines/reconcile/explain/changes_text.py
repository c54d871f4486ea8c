"""The text of what changed between two nights."""

from collections.abc import Iterator, Sequence

from pipelines.common.human import human_amount, human_bytes
from pipelines.reconcile.explain.words import Json, minute, queue_name, size

_MOST = 12
_STATES = (("was_state", "existed"), ("state", "exists"))


def since_lines(change: Json) -> Iterator[str]:
    """Yields the lines of one answer about changes."""
    what = change.get("path") or (f"peer {change['peer_id']}" if "peer_id" in change else change.get("server"))
    if what:
        yield what
    cluster = f"cluster {change['cluster']}, {minute(change['listed_at'])} (run {change['run_id']})"
    yield f"{cluster}, compared with {minute(change['since'])} (run {change['since_run_id']})"
    for note in (change["note"], change["since_note"]):
        if note:
            yield f"! {note}"
    if "path" in change:
        yield from _file(change)
        return
    if "peer_id" in change:
        was, became = (_peer_state(change[one], change[there]) for one, there in _STATES)
        if was != became:
            yield f"  was {was}, is {became}"
    yield from change_lines(change, _MOST)
    yield from _verdicts(change)


def _peer_state(state: str | None, exists: bool) -> str:
    return state or ("in a state that is not known" if exists else "not there")


def change_lines(change: Json, most: int, width: int | None = None) -> Iterator[str]:
    """Yields the lines of totals, findings, queues, peers, servers and the clean-up.

    Args:
        change: the answer.
        most: the most lines of a kind.
        width: the most columns of a line; None = any.
    """
    if change["bytes"] is not None:
        sign = "+" if change["bytes"] >= 0 else ""
        what = "held by the peer" if "peer_id" in change else "under oldWALs"
        yield f"  {sign}{human_bytes(change['bytes'])}, {change['files']:+,} files {what}"
    elif "server" not in change:  # of a server the verdicts say so
        yield "  Sizes: not known, because the lake does not have those of both nights."
    for word, mark in (("new", "+"), ("gone", "-")):
        told = [f"  {mark} {one['severity']} {one['code']}: {one['message']}" for one in change[f"{word}_findings"]]
        yield from _first(told, most, width)
        queues = change[f"{word}_queues"]
        names = [f"  {mark} peer {one['peer_id']}, {queue_name(one)}" for one in queues]
        yield from _first(names, most, width)
        for kind in ("peers", "servers"):
            found = change.get(f"{word}_{kind}") or ()
            yield from _first([f"  {mark} {kind[:-1]} {name}" for name in found], most, width)
    steps = [
        f"  {one['action'].lower()} of run {one['run_id']} at {minute(one['at'])}: "
        f"{human_amount(one['files'], one['bytes'])} ({one['status']})"
        for one in change.get("cleanup", ())
    ]
    yield from _first(steps, most, width)


def _verdicts(change: Json) -> Iterator[str]:
    if change["verdicts"] is None:
        cluster = "nights" in change
        why = ", because the table verdict_changes does not have every night since then" if cluster else ""
        yield f"  Verdicts: not known{why}."
        return
    if not change["verdicts"]:
        yield "  No file changed its verdict."
        return
    before, after = ("not held", "no longer held") if "peer_id" in change else ("not there", "gone")
    if "peer_id" in change:
        yield "  Held by the peer:"
    elif change.get("nights", 1) > 1:
        yield f"  Verdicts, added up over {change['nights']} nights; a file that changed twice counts twice:"
    else:
        yield "  Verdicts:"
    for one in change["verdicts"]:
        yield f"    {size(one)}  {one['was'] or before} -> {one['became'] or after}"


def _file(change: Json) -> Iterator[str]:
    nothing = "not there" if change["since_verdicts_known"] else "not known"
    was, became = change["was"] or nothing, change["became"] or "gone"
    yield f"  still {became}" if was == became else f"  {was} -> {became}"
    for one in change["cleanup"]:
        yield f"  {one['outcome']} at {minute(one['at'])}, by the list of run {one['run_id']}"


def _first(lines: Sequence[str], most: int, width: int | None) -> Iterator[str]:
    left = len(lines) - most
    for number, line in enumerate(lines[:most], start=1):
        more = f" (and {left} more: --output json)" if number == most and left > 0 else ""
        room = len(line) if width is None else width - len(more)
        yield (line if len(line) <= room else f"{line[: room - 2]} …") + more
