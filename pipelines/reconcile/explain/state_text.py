"""The text of the state of a cluster: about forty lines of at most a hundred columns."""

import textwrap
from collections.abc import Iterator, Sequence

from pipelines.common.human import human_bytes, human_count, human_duration
from pipelines.common.instants import DAY_MS
from pipelines.reconcile.explain.changes_text import change_lines
from pipelines.reconcile.explain.words import Json, minute, peer_name, queue_name, size

WIDTH = 100
_TOP, _FEW = 4, 3
_LONGEST_DAYS = 3650


def state_lines(state: Json) -> Iterator[str]:
    """Yields the lines of the state of a cluster."""
    age = human_duration(state["age_ms"])
    yield f"cluster {state['cluster']}, listed at {minute(state['listed_at'])}, {age} ago (run {state['run_id']})"
    if state["note"]:
        yield from _wrapped(f"! {state['note']}", "")
    files, bytes_ = (sum(one[name] for one in state["verdicts"]) for name in ("files", "bytes"))
    yield f"Under oldWALs: {human_count(files, 'file')}, {human_bytes(bytes_)}"
    for one in state["verdicts"]:
        yield f"  {size(one)}  {one['verdict']}"
    yield from _who_holds(state)
    yield from _findings([one for one in state["findings"] if not one["acknowledged"] and one["severity"] != "info"])
    yield from _new(state["changes"])
    yield from _waiting(state)
    yield from _wrapped(forecast_sentence(state["forecast"]), "")


def _who_holds(state: Json) -> Iterator[str]:
    held = [one for one in state["reasons"] if one["verdict"] == "HELD"]
    if held:
        yield "Held, by reason:"
        for one in held[:_TOP]:
            yield from _wrapped(f"{size(one)}  {one['reason']}" + (f": {one['way_out']}" if one["way_out"] else ""))
        yield from _more(held, _TOP)
    if state["peers"]:
        yield "By peer, and what would free it:"
        for one in state["peers"][:_FEW]:
            frees = f"; frees {human_bytes(one['frees_bytes'])}" if one["frees_bytes"] else ""
            yield from _wrapped(f"{size(one)}  {peer_name(one)}{frees}: {one['remedy'] or 'see the findings'}")
        yield from _more(state["peers"], _FEW)
    if state["queues"]:
        yield "By queue:"
        for one in state["queues"][:_FEW]:
            yield from _wrapped(f"{size(one)}  {peer_name(one)}, {queue_name(one)}")
        yield from _more(state["queues"], _FEW)
    if state["servers"]:
        yield "By server whose WALs they are:"
        for one in state["servers"][:_FEW]:
            yield f"  {size(one)}  {one['server'] or 'names without a server'}"


def _findings(findings: Sequence[Json]) -> Iterator[str]:
    if not findings:
        yield "No open finding."
        return
    errors = sum(1 for one in findings if one["severity"] == "error")
    yield f"Open findings: {human_count(errors, 'error')}, {human_count(len(findings) - errors, 'warning')}"
    for one in findings[:_FEW]:
        new = ", new" if one["is_new"] else f", since {minute(one['since'])}" if one["since"] else ""
        yield from _wrapped(f"{one['severity']} {one['code']}{new}: {one['message']}")
        yield from _wrapped(f"-> {one['remedy']}", "    ")
    yield from _more(findings, _FEW)


def _new(changes: Json | None) -> Iterator[str]:
    if changes is None:
        yield "It is the first night of this cluster in this lake."
        return
    yield f"New since {minute(changes['since'])} (run {changes['since_run_id']}):"
    for line in change_lines(changes, most=1):
        yield line if len(line) <= WIDTH else f"{line[: WIDTH - 2]} …"


def _waiting(state: Json) -> Iterator[str]:
    approval = state["approval"]
    if approval is not None:
        what = f"{human_count(approval['files'], 'file')}, {human_bytes(approval['bytes'])} of run {approval['run_id']}"
        until = f" until {minute(approval['not_after'])}" if approval["not_after"] else ""
        if state["paused"]:
            yield f"Nothing can be approved while the clean-up is paused: {what}"
        elif approval["automatic"]:
            yield f"The night cleans them itself{until}: {what}"
        else:
            yield f"Waits for approval{until}: {what}"
            yield f"  ./spark-submit.sh clean --config FILE --run-id {approval['run_id']} --execute"
    for one in state["unfinished"]:
        begun = f"{one['action'].lower()} of run {one['run_id']}"
        yield f"Not finished: {begun}, {one['status']} since {minute(one['at'])}"
    for one in state["quarantine"][:_FEW]:
        when = "now" if one["grace_is_over"] else f"from {minute(one['purge_from'])}"
        what = f"{human_count(one['files'], 'file')}, {human_bytes(one['bytes'])}"
        yield f"In the quarantine: {what} of run {one['run_id']}; purge may delete them {when}"
    yield from _more(state["quarantine"], _FEW)


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
    if forecast["days"] > _LONGEST_DAYS:
        return f"The disk is not full within ten years: {used}{pace}"
    left = human_duration(round(forecast["days"] * DAY_MS))
    return f"The disk is full {left} after the listing, on {forecast['full_at'][:10]}: {used}{pace}"


def _signed(value: int) -> str:
    return f"{'+' if value >= 0 else ''}{human_bytes(value)}"


def _wrapped(text: str, indent: str = "  ") -> Iterator[str]:
    """Yields at most two lines."""
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ", max_lines=2, placeholder=" …",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _more(rows: Sequence[Json], shown: int) -> Iterator[str]:
    if len(rows) > shown:
        yield f"  … and {len(rows) - shown} more (--output json has them all)"
