"""Defines the failures F1 to F39 of a partition split as searches of the model: what is injected, and what must happen.

A row without a fault is about order or delay. The search tries every order, so a message that is lost and sent again
equals one that arrives late.
"""

from dataclasses import dataclass, field

from pipelines.pegasus.simulate.clients import DOUBLE, FORGOTTEN, LOST, STUCK
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.scope import CHILD_HALF, PARENT_HALF, Design, Scope
from tests.models.split.search import Explored, explore

SHIPPED = Design(restart_all=False, query_first=False, remember_pause=False, whole_list=False, spare_registered=False)
"""The protocol as Pegasus ships it. The default `Design` fixes what the model finds in it."""
ONE = (CHILD_HALF,)
BOTH = (CHILD_HALF, PARENT_HALF)


@dataclass(frozen=True, slots=True)
class Injection:
    """One row of the failure table.

    Attributes:
        row: the name of the row, F1 to F39.
        what: the failure, in words.
        scope: the scope that is searched.
        sees: the moves that the search must make, which prove that the failure has really affected the protocol.
        shows: the subset of `sees` that one history can contain.
        shipped: the invariant that the failure breaks in the shipped protocol; None = none.
    """

    row: str
    what: str
    scope: Scope
    sees: frozenset[str] = field(default_factory=frozenset)
    shows: frozenset[str] = field(default_factory=frozenset)
    shipped: str | None = None

    def search(self, design: Design) -> Explored:
        """Searches every history with this failure."""
        return explore(self.scope, design)


def _scope(*may: str, replicas: int = 2, writes: tuple[str, ...] = BOTH, faults: int = 1, **more: bool) -> Scope:
    return Scope(replicas, writes, frozenset(may), faults if may else 0, **more)


def _row(row: str, what: str, scope: Scope, *sees: str, shipped: str | None = None) -> Injection:
    shows = frozenset(sees[:1] if scope.scans else sees)
    return Injection(row, what, scope, frozenset(sees) | scope.may, shows, shipped)


_CRASH = _scope("crash", replicas=3, writes=ONE)
_MOVE = _scope("move_primary")
_NONE = _scope()
_FAILOVER = _scope("meta_failover")
_ASKS = tuple(name for name in sorted(FAULTS) if name.startswith("ask_"))
INJECTIONS: tuple[Injection, ...] = (
    _row("F1", "meta is asked for a split that it must refuse: count, table, busy", _scope(*_ASKS), "count_doubled"),
    _row("F2", "the write of the doubled count to ZooKeeper times out", _scope("zookeeper_timeout"), "count_doubled"),
    _row("F3", "a learner is in the group when the split should begin", _scope("learner"), "learner_done"),
    _row("F4", "the meta leader dies while the split goes on", _FAILOVER, "child_written"),
    _row(
        "F5",
        "the meta leader dies while the split is paused or being cancelled",
        _scope("pause", "cancel", "meta_failover", faults=2),
        "all_stopped",
        shipped=FORGOTTEN,
    ),
    _row("F6", "a child's directory cannot be made", _scope("child_fails"), "group_check", "child_written"),
    _row("F7", "the parent's ballot changes", _scope("move_primary", "child_refuses"), "create_child"),
    _row("F8", "a request of an older ballot arrives", _MOVE, "answer_ERR_INVALID_VERSION"),
    _row("F9", "the copy of the checkpoint fails", _scope("copy_fails"), "learn"),
    _row("F10", "a child fails to learn", _scope("child_fails"), "learn", "catch_up"),
    _row(
        "F11",
        "the primary's own child fails after a secondary's has told that it is caught up (#2209)",
        _scope("child_fails", replicas=3, writes=ONE),
        "notify",
        shipped=STUCK,
    ),
    _row("F12", "writes go on while children learn", _NONE, "write_parent", "copy"),
    _row(
        "F13",
        "the message that a child is caught up arrives late, again, or is refused",
        _scope("notify_refused"),
        "notify",
    ),
    _row("F14", "a child refuses a mutation of sync mode", _scope("child_refuses"), "sync_mode"),
    _row("F15", "a child is slow to answer in sync mode", _NONE, "copy", "commit"),
    _row("F16", "the primary changes before the sync point", _MOVE, "sync_mode"),
    _row(
        "F17",
        "a learner appears, or a child's answer is outdated, while children take the new count",
        _scope("learner", "count_outdated"),
        "update_count",
    ),
    _row(
        "F18",
        "a child's node dies after the new count was written, and comes back",
        _scope("crash", "restart", replicas=3, writes=ONE, faults=2),
        "update_count",
    ),
    _row("F19", "a reconfiguration is under way when the child should be registered", _CRASH, "reconfigure"),
    _row("F20", "meta has another ballot of the parent", _MOVE, "answer_ERR_INVALID_VERSION"),
    _row("F21", "meta has been paused or cancelled", _scope("pause", "cancel"), "answer_ERR_INVALID_STATE"),
    _row("F22", "meta writes to ZooKeeper already: the request waits", _NONE, "answer_ERR_IO_PENDING"),
    _row("F23", "the request to register arrives late or again", _NONE, "meta_registers"),
    _row("F24", "meta's answer is lost", _scope("answer_lost"), "answer_ERR_CHILD_REGISTERED"),
    _row("F25", "the write of the child to ZooKeeper times out", _scope("zookeeper_timeout"), "child_written"),
    _row("F26", "the meta leader dies after it has written the child", _FAILOVER, "answer_ERR_OK"),
    _row("F27", "the meta leader dies before it has written the child", _FAILOVER, "meta_registers"),
    _row("F28", "the parent's primary dies before it activates the child", _CRASH, "child_elected"),
    _row(
        "F29",
        "the parent's primary dies before its secondaries know the new count",
        _CRASH,
        "child_written",
        shipped=DOUBLE,
    ),
    _row("F30", "a secondary learns the new count late", _NONE, "group_count"),
    _row("F31", "the split is paused, and begun again", _scope("pause", "restart_split", faults=2), "all_stopped"),
    _row("F32", "the split is cancelled before any child is registered", _scope("cancel"), "count_halved"),
    _row("F33", "the split is cancelled after a child is registered: refused", _scope("cancel"), "cancel_refused"),
    _row(
        "F34",
        "a client knows the table from before the split, and then as it was",
        _scope(cached=True),
        "write_parent",
        "client_refresh",
        "write_child",
    ),
    _row("F35", "compaction at any time", _MOVE, "compact_parent", "compact_child"),
    _row(
        "F36",
        "a full scan overlaps the split: it may see rows twice or not at all, and is flagged",
        _scope(scans=True),
        "scan_flagged",
        "scan_exact",
    ),
    _row(
        "F37",
        "a disk has no room for the split: the preflight holds it back until there is",
        _scope("disk_tight", replicas=3, writes=ONE, faults=2),
        "disk_freed",
        "child_written",
    ),
    _row(
        "F38",
        "writes go on while a parent copies its prepare list for the child (#2210)",
        _scope("list_slow"),
        "list_copied",
        "write_parent",
        shipped=LOST,
    ),
    _row(
        "F39",
        "the check every three seconds meets a registered child after the parent's ballot has changed",
        _scope("move_primary", "three_second_check", writes=ONE, faults=3),
        "child_written",
        shipped=DOUBLE,  # F29 comes first; the mutant `check-kills-registered` shows this failure alone
    ),
)
BY_ROW = {one.row: one for one in INJECTIONS}
MUTANTS = {
    "no-sync-point": Design(sync_point=False),
    "checkpoint-only": Design(replay_log=False, copy_list=False),
    "no-private-log": Design(replay_log=False),
    "no-prepare-list": Design(copy_list=False),
    "torn-prepare-list": Design(whole_list=False),
    "check-kills-registered": Design(spare_registered=False),
    "no-reject": Design(reject=False),
    "no-ballot-check": Design(check_ballot=False),
    "same-ballot": Design(ballot_step=0),
    "ballot-leaps": Design(ballot_step=2),
    "children-outlive-ballots": Design(drop_children=False),
    "orphans-are-loaded": Design(discard_orphans=False),
    "filter-while-rejecting": Design(careful_filter=False),
    "restart-alone": Design(restart_all=False),
    "serve-before-asking": Design(query_first=False),
    "forget-pauses": Design(remember_pause=False),
    "no-start-check": Design(check_start=False),
    "no-preflight": Design(check_disks=False),
    "env-lost": Design(set_env=False),
    "stubborn-clients": Design(refresh=False),
    "scans-unfiltered": Design(scan_filter=False),
}
"""The protocol with one rule removed or changed."""
HOMES = {
    "no-sync-point": "F12",
    "checkpoint-only": "F12",
    "no-private-log": "F12",
    "no-prepare-list": "F12",
    "torn-prepare-list": "F38",
    "check-kills-registered": "F39",
    "no-reject": "F12",
    "no-ballot-check": "F20",
    "same-ballot": "F12",
    "ballot-leaps": "F12",
    "children-outlive-ballots": "F7",
    "orphans-are-loaded": "F18",
    "filter-while-rejecting": "F35",
    "restart-alone": "F11",
    "serve-before-asking": "F29",
    "forget-pauses": "F5",
    "no-start-check": "F1",
    "no-preflight": "F37",
    "env-lost": "F12",
    "stubborn-clients": "F34",
    "scans-unfiltered": "F36",
}
"""For each mutant, the row of the failure table whose histories show what it breaks."""
