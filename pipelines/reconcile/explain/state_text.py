"""The text of the state of a cluster: one screen, about forty lines of at most a hundred columns."""

from collections.abc import Iterator, Sequence

from pipelines.common.human import human_amount, human_bytes, human_count, human_duration
from pipelines.common.instants import DAY_MS
from pipelines.common.text import wrapped
from pipelines.lake.forecast import LONGEST_DAYS
from pipelines.lake.run_summary import DONE
from pipelines.reconcile.explain.changes_text import change_lines
from pipelines.reconcile.explain.words import Json, frees, minute, peer_name, queue_name, size

WIDTH = 100
_FEW, _PLACES, _MOST_LINES = 3, 2, 2


def state_lines(state: Json) -> Iterator[str]:
    """Yields the lines of the state of a cluster."""
    age = human_duration(state["age_ms"])
    yield f"cluster {state['cluster']}, listed at {minute(state['listed_at'])}, {age} ago (run {state['run_id']})"
    if state["note"]:
        yield _lines(f"! {state['note']}", "")
    total = {name: sum(one[name] for one in state["verdicts"]) for name in ("files", "bytes")}
    parts = "".join(f"; {one['verdict']} {_amount(one)}" for one in state["verdicts"])
    yield f"Under oldWALs: {_amount(total)}{parts}"
    yield from _who_holds(state)
    if state["status"] == DONE:
        yield from _findings(
            [one for one in state["findings"] if not one["acknowledged"] and one["severity"] != "info"]
        )
        yield from _new(state["changes"])
    else:
        yield "Findings: not looked for, because this snapshot was not decided."
    yield from _waiting(state)
    yield _lines(forecast_sentence(state["forecast"]), "")
    yield "--output json has every row, and no text cut short."


def _who_holds(state: Json) -> Iterator[str]:
    held = [one for one in state["reasons"] if one["verdict"] == "HELD"]
    if held:
        yield _head("Held, by reason", held, _FEW)
        for one in held[:_FEW]:
            way_out = f": {one['way_out']}" if one["way_out"] else ""
            yield _lines(f"{size(one)}  {one['reason']}{way_out}")
    if state["peers"]:
        yield _head("By peer, and what would free it", state["peers"], _FEW)
        for number, one in enumerate(state["peers"][:_FEW]):
            text = f"{size(one)}  {peer_name(one)}; {frees(one['frees_bytes'], one['remedy'])}"
            yield _lines(text, "  ", _MOST_LINES if number else None)  # of the biggest holder every word is needed
    if state["queues"]:
        yield _head("By queue", state["queues"], _PLACES)
        for one in state["queues"][:_PLACES]:
            yield _lines(f"{size(one)}  {peer_name(one)}, {queue_name(one)}")
    if state["servers"]:
        yield "By server whose WALs they are:"
        for one in state["servers"][:_PLACES]:
            yield f"  {size(one)}  {one['server'] or 'names without a server'}"


def _findings(findings: Sequence[Json]) -> Iterator[str]:
    if not findings:
        yield "No open finding."
        return
    errors = sum(1 for one in findings if one["severity"] == "error")
    counted = f"{human_count(errors, 'error')}, {human_count(len(findings) - errors, 'warning')}"
    yield _head(f"Open findings: {counted}", findings, _FEW)
    for one in findings[:_FEW]:
        new = ", new" if one["is_new"] else f", since {minute(one['since'])}" if one["since"] else ""
        yield _lines(f"{one['severity']} {one['code']}{new}: {one['message']}")
        yield _lines(f"-> {one['remedy']}", "    ")


def _new(changes: Json | None) -> Iterator[str]:
    if changes is None:
        yield "It is the first night of this cluster in this lake."
        return
    yield f"New since {minute(changes['since'])} (run {changes['since_run_id']}):"
    yield from change_lines(changes, most=1, width=WIDTH)


def _waiting(state: Json) -> Iterator[str]:
    approval = state["approval"]
    if approval is not None:
        what = f"{_amount(approval)} of run {approval['run_id']}"
        until = f" until {minute(approval['not_after'])}" if approval["not_after"] else ""
        if state["paused"]:
            yield f"Cannot be approved during the pause: {what}"
        else:
            waits = f"Waits for approval{until}: {what}"
            if approval["automatic"]:
                waits = f"{what} may be cleaned{until}. The next night lists these files again; to clean them now:"
            yield _lines(waits, "")
            yield f"  {approval['command']}"
    for one in state["unfinished"][-_FEW:]:  # the newest
        begun = f"{one['action'].lower()} of run {one['run_id']}"
        yield f"Not finished: {begun}, {one['status']} since {minute(one['at'])}"
    if len(state["unfinished"]) > _FEW:
        yield f"  … and {len(state['unfinished']) - _FEW} earlier"
    for one in state["quarantine"][:_FEW]:
        when = "now" if one["grace_is_over"] else f"from {minute(one['purge_from'])}"
        yield f"In the quarantine: {_amount(one)} of run {one['run_id']}; purge may delete them {when}"
    if len(state["quarantine"]) > _FEW:
        yield f"  … and files of {len(state['quarantine']) - _FEW} more runs"


def forecast_sentence(forecast: Json) -> str:
    """Returns the forecast in a sentence."""
    growth, capacity = forecast["growth_per_day"], forecast["capacity_bytes"]
    pace = "" if growth is None else f" The pace of the last {forecast['nights']} nights is {_signed(growth)} a day."
    room = "" if capacity is None else f" of {human_bytes(capacity)}"
    if forecast["days"] is None:
        return f"No forecast of a full disk: {forecast['refusal']}.{pace}"
    used = f"{human_bytes(forecast['bytes'])}{room} are used."
    if forecast["days"] == 0:
        return f"The capacity is used up: {used}{pace}"
    if forecast["days"] > LONGEST_DAYS:
        return f"The disk is not full within ten years: {used}{pace}"
    left = human_duration(round(forecast["days"] * DAY_MS))
    return f"The disk is full {left} after the listing, on {forecast['full_at'][:10]}: {used}{pace}"


def _signed(value: int) -> str:
    return f"{'+' if value >= 0 else ''}{human_bytes(value)}"


def _amount(row: Json) -> str:
    return human_amount(row["files"], row["bytes"])


def _head(text: str, rows: Sequence[Json], shown: int) -> str:
    """Returns the line above rows; it says how many there are if not all are shown."""
    return f"{text} ({shown} of {len(rows)} shown):" if len(rows) > shown else f"{text}:"


def _lines(text: str, indent: str = "  ", most: int | None = _MOST_LINES) -> str:
    """Returns the text in lines of the width of the screen, at most so many; None = all."""
    return wrapped(text, indent, WIDTH, most)
