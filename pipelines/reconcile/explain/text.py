"""The text output of explain, from the same result as the JSON output."""

from collections.abc import Iterator

from pipelines.common.human import human_amount, human_bytes, human_count, human_duration
from pipelines.common.text import wrapped
from pipelines.reconcile.explain.changes_text import since_lines
from pipelines.reconcile.explain.state_text import WIDTH, state_lines
from pipelines.reconcile.explain.words import Json, minute, peer_name, queue_name, size

_ENDS_A_PAUSE = "explain without a peer, server or file shows what to do."


def explain_text(result: Json) -> str:
    """Formats an answer: the verdict, how to free the file, and then a line about a paused clean-up.

    A state and what changed have the findings themselves, so they begin with the pause.
    """
    if "peer" in result:
        answers, lines = [result["peer"]], list(_peer(result["peer"]))
    elif "server" in result:
        answers, lines = [result["server"]], list(_server(result["server"]))
    elif "state" in result:
        answers, lines = [result["state"]], list(state_lines(result["state"]))
    elif "changes" in result:
        answers = result["changes"]
        lines = [line for one in answers for line in (*since_lines(one), "")][:-1]
    else:
        answers = result["files"]
        lines = [line for file in answers for line in (*_file(file), "")][:-1]
    paused = dict.fromkeys(one["paused"]["text"].split("\n", 1)[0] for one in answers if one["paused"])
    if "state" in result or "changes" in result:
        lines = [*(line for text in paused for line in (wrapped(text, "", WIDTH), "")), *lines]
    else:
        lines += [line for text in paused for line in ("", f"{text} {_ENDS_A_PAUSE}")]
    return "\n".join(lines) + "\n"


def _head(one: Json) -> Iterator[str]:
    yield f"cluster {one['cluster']}, listed at {minute(one['listed_at'])} (run {one['run_id']})"
    if one["note"]:
        yield f"! {one['note']}"


def _file(file: Json) -> Iterator[str]:
    yield file["path"]
    for line in _head(file):
        yield f"  {line}"
    length = "size unknown" if file["bytes"] is None else human_bytes(file["bytes"])
    age = file["archived_for_ms"]
    yield f"  {file['verdict']} {file['reason']}: {file['why']}."
    yield f"  {length}" + ("" if age is None else f", archived {human_duration(age)} before the listing")
    for holder in file["holders"]:
        yield from _holder(holder)
    if file["way_out"] and not file["holders"]:
        yield f"  What frees it: {file['way_out']}."
    if file["verdict"] == "DELETABLE" and file["hbase_verdict"] == "DELETE":
        yield "  HBase's own cleaner would delete it too."
    elif file["hbase_verdict"] == "THROWS":
        yield "  HBase's own cleaner throws on it and leaves its whole directory."


def _holder(holder: Json) -> Iterator[str]:
    queue = "which has no queue for its server yet" if holder["owner"] is None else f"queue of {holder['owner']}"
    if holder["owner"] is not None and holder["owner"] != holder["source"]:
        queue += f", claimed from {holder['source']}"
    known = holder["since"] is not None
    begin = "at least since" if holder["since_at_least"] else "since"
    since = f", {begin} {minute(holder['since'])} ({human_count(holder['nights'], 'night')})" if known else ""
    yield f"  Held by {peer_name(holder)}, {queue}{since}"
    if holder["wal"]:
        place = _place(holder["offset"])
        behind = "" if holder["behind_ms"] is None else f", {human_duration(holder['behind_ms'])} behind the listing"
        yield f"    stands at {holder['wal']}, {place}{behind}"
    elif holder["owner"] is not None:
        yield "    has no offset in this WAL group yet: everything of it is needed"
    if holder["pending_files"]:
        waiting = human_amount(holder["pending_files"], holder["pending_bytes"])
        yield f"    {waiting} wait for it in this WAL group"
    if holder["remedy"]:
        yield f"    What frees it: {holder['remedy']}"
    if holder["peer_frees_files"]:
        freed = human_amount(holder["peer_frees_files"], holder["peer_frees_bytes"])
        yield f"    When peer {holder['peer_id']} has shipped everything: {freed} come free"


def _place(offset: int | None) -> str:
    if offset is None:  # in ZooKeeper, a queue names WALs whose position may be unreadable
        return "at a position that cannot be read"
    return "finished" if offset < 0 else f"at byte {offset:,}"


def _peer(peer: Json) -> Iterator[str]:
    gone = "" if peer["exists"] else ", which does not exist any more"
    yield f"{peer_name(peer)}{gone}"
    for line in _head(peer):
        yield f"  {line}"
    yield (
        f"  Holds {human_amount(peer['files'], peer['bytes'])}: "
        f"{human_bytes(peer['exclusive_bytes'])} alone, {human_bytes(peer['joint_bytes'])} with others"
    )
    if peer["state_since"] is not None:
        nights = human_count(peer["state_nights"], "night")
        yield f"  {peer['peer_state'].capitalize()} at least since {minute(peer['state_since'])} ({nights})"
    if peer["oldest_age_ms"] is not None:
        yield f"  Its oldest WAL is {human_duration(peer['oldest_age_ms'])} old"
    if peer["remedy"] and peer["files"]:
        freed = human_amount(peer["frees_files"], peer["frees_bytes"])
        what = f"What frees {freed}" if peer["frees_bytes"] else "Frees nothing alone. To let it go on"
        yield f"  {what}: {peer['remedy']}"
    if peer["queues"]:
        yield "  Queues, most bytes first:"
        for queue in peer["queues"][:10]:
            yield f"    {size(queue)}  {queue_name(queue)}"
        if len(peer["queues"]) > 10:
            yield f"    … and {len(peer['queues']) - 10} more (--output json has them all)"
    if peer["next_wals"]:
        yield "  Waits for these first:"
        for wal in peer["next_wals"]:
            yield f"    {wal['path']} ({human_bytes(wal['bytes'] or 0)})"
    yield "  Bytes held by night:"
    most = max((night["bytes"] for night in peer["trend"]), default=0) or 1
    for night in peer["trend"]:
        bar = "█" * round(24 * night["bytes"] / most)
        yield f"    {minute(night['listed_at'])}  {human_bytes(night['bytes']):>10}  {bar}"


def _server(server: Json) -> Iterator[str]:
    yield f"server {server['server']}"
    for line in _head(server):
        yield f"  {line}"
    if not server["files"]:
        yield "  No file below oldWALs."
    for row in server["files"]:
        yield f"  {size(row)}  {row['verdict']} {row['reason']}"
        if row["way_out"]:
            yield f"      What frees them: {row['way_out']}"
    if server["holders"]:
        yield "  Queues of its WALs, and queues that it has claimed:"
        for queue in server["holders"]:
            age = queue["oldest_age_ms"]
            oldest = "" if age is None else f", its oldest WAL {human_duration(age)} old"
            yield f"    {size(queue)}  {peer_name(queue)}, {queue_name(queue)}{oldest}"
            if queue["remedy"] and queue["frees_bytes"]:
                yield f"      What frees {human_bytes(queue['frees_bytes'])}: {queue['remedy']}"
