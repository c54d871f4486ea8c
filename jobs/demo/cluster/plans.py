"""The generated cluster of the demo: one with everything that goes wrong in practice."""

from dataclasses import replace

from jobs.demo.cluster.model import (
    MIB,
    Claim,
    ClusterPlan,
    Held,
    OddFile,
    OddRow,
    PeerPlan,
    ServerLife,
    Tampering,
    WalStream,
)
from jobs.demo.cluster.parts import (
    DISABLED_PEER,
    POISON_NAME,
    REMOVED_PEER,
    STALLED_PEER,
    SYNC_PEER,
    WAL_SIZE,
    active_master,
    encoded_name,
    meta_stream,
    new_life,
    new_peer,
    peer_lags,
    with_streams,
)
from jobs.demo.cluster.wals import wals_of
from pipelines.common.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from pipelines.hbase.server_names import ServerName

SERVERS = 24
PAST = 12 * DAY_MS
"""How far back WALs are generated; everything older has been cleaned."""


def demo_plan(first_night: int, seed: int = 7) -> ClusterPlan:
    """A cluster of 24 region servers and 4 peers, some 20,000 WALs in oldWALs, and a long list of troubles.

    A peer disabled 8 days ago pins most bytes; a poison file has kept HBase's cleaner from deleting anything for 11
    days. On the first night the cluster is quiet. On the second a crash procedure is unfinished. On the third that
    queue has been claimed, a server that crashes as soon as it starts has no queue yet, and an offset was rewound.

    Args:
        first_night: start of step `files` of the first capture, ms; ask `capture_at` for later ones as well.
        seed: another seed gives other sizes and roll times.
    """
    return _Demo(first_night, seed).plan()


class _Demo:
    """Builds the troubled cluster; instants are counted from its first night."""

    def __init__(self, first_night: int, seed: int) -> None:
        self.night = first_night
        self.seed = seed
        self.past = first_night - PAST
        self.disabled_at = self.days(-8)
        self.lives: dict[str, ServerLife] = {}

    def days(self, days: float) -> int:
        return self.night + int(days * DAY_MS)

    def plan(self) -> ClusterPlan:
        for host in range(1, SERVERS + 1):
            if host not in (5, 6):
                self.add(
                    str(host), new_life(host, self.past - 30 * DAY_MS, self.past, regiongroups=2 if host > 20 else 1)
                )
        self.specialists()
        self.restarted()
        self.dead()
        self.crashed_at_night()
        plan = ClusterPlan(
            cluster="demo",
            seed=self.seed,
            wal_root="hdfs://demo/hbase",
            master=active_master(self.past),
            lives=tuple(self.lives.values()),
            peers=tuple(
                PeerPlan(new_peer(name), lag, **({"disabled_at": self.disabled_at} if name == DISABLED_PEER else {}))
                for name, lag in peer_lags().items()
            ),
            cleaner_stuck_since=self.days(-11),
            held=self.held(),
            odd_files=self.odd_files(),
            tampering=(
                Tampering(self.server("27"), self.disabled_at - peer_lags()[DISABLED_PEER], None),
                Tampering(self.server("30"), self.disabled_at - peer_lags()[DISABLED_PEER], 85),
            ),
            procedure_wals=tuple(self.days(number - 7) - 4 * MINUTE_MS for number in range(10)),
            master_wals_every=4 * HOUR_MS,
        )
        return replace(plan, odd_rows=(*self.orphans(), self.twin(plan)))

    def server(self, key: str) -> ServerName:
        return self.lives[key].server

    def add(self, key: str, life: ServerLife) -> None:
        self.lives[key] = life

    def specialists(self) -> None:
        """Servers with more than user WALs: hbase:meta, hbase:replication, synchronous replication."""
        meta, replication = self.server("2"), self.server("11")
        self.lives["2"] = with_streams(self.lives["2"], meta_stream(meta, self.past))
        leaked = WalStream(
            f"{encoded_name(replication)}.rep", "", self.past, HOUR_MS, 2 * MIB, tracked=False, leaked=True
        )
        self.lives["11"] = with_streams(self.lives["11"], leaked)
        for key, since in (("12", self.past), ("13", self.past), ("14", self.days(-2))):
            group = f"{encoded_name(self.server(key))}-{since - MINUTE_MS}-{SYNC_PEER}"
            sync = WalStream(group, ".syncrep", since, 4 * HOUR_MS, 40 * MIB)
            self.lives[key] = with_streams(self.lives[key], sync)

    def restarted(self) -> None:
        """Restarts: after the disabling (its queue was claimed; the new life has no queue of it), and before it."""
        died = self.days(-5.3)
        claims = (Claim(died + 3 * MINUTE_MS, self.server("3")),)
        self.add("5-old", new_life(5, self.past - 9 * DAY_MS, self.past, died, died + 2 * MINUTE_MS, claims=claims))
        self.add("5", new_life(5, died + 4 * MINUTE_MS, died + 4 * MINUTE_MS))
        died = self.days(-9.5)
        claims = (Claim(died + 3 * MINUTE_MS, self.server("8")),)
        self.add("6-old", new_life(6, self.past - 9 * DAY_MS, self.past, died, died + 2 * MINUTE_MS, claims=claims))
        self.add("6", new_life(6, died + 4 * MINUTE_MS, died + 4 * MINUTE_MS))

    def dead(self) -> None:
        """Dead for good: claimed twice and stalled; finished; two claimers; a directory that stayed."""
        died, died_too = self.days(-10), self.days(-9)
        self.add("26", new_life(26, self.past - DAY_MS, self.past, died_too, died_too + 2 * MINUTE_MS))
        twice = (
            Claim(died + 3 * MINUTE_MS, self.server("26")),
            Claim(died_too + 3 * MINUTE_MS, self.server("7")),
        )
        self.add("25", new_life(25, self.past - DAY_MS, self.past, died, died + 2 * MINUTE_MS, claims=twice))
        for key, age, owner in (("27", 6, "4"), ("30", 5, "12")):
            died = self.days(-age)
            claims = (Claim(died + 3 * MINUTE_MS, self.server(owner)),)
            life = new_life(int(key), self.past - DAY_MS, self.past, died, died + 2 * MINUTE_MS, claims, key == "30")
            self.add(key, life)

    def crashed_at_night(self) -> None:
        """The second night's crash, and the third night's server that crashes as soon as it starts."""
        died, recovered = self.days(1) - 4 * MINUTE_MS, self.days(1) + 8 * MINUTE_MS
        claims = (Claim(recovered + MINUTE_MS, self.server("9")),)
        self.add("28", new_life(28, self.past - DAY_MS, self.past, died, recovered, claims=claims))
        self.add("28-new", new_life(28, recovered + 5 * MINUTE_MS, recovered + 5 * MINUTE_MS))
        died, recovered = self.days(2) - 30 * MINUTE_MS, self.days(2) - 20 * MINUTE_MS
        claims = (Claim(recovered + MINUTE_MS, self.server("10")),)
        self.add("29", new_life(29, self.past - DAY_MS, self.past, died, recovered, claims=claims))
        # before any peer has shipped its first edit, so no queue has a row of it yet
        started = self.days(2) - 90 * SECOND_MS
        crash = started + 30 * SECOND_MS
        claims = (Claim(crash + 10 * MINUTE_MS, self.server("10")),)
        self.add("29-new", new_life(29, started, started, crash, crash + 9 * MINUTE_MS, claims=claims))

    def held(self) -> tuple[Held, ...]:
        stalled = self.days(-10.2)
        return (
            Held(STALLED_PEER, self.server("25"), stalled, stalled),
            Held("analytics", self.server("10"), self.days(2) - HOUR_MS, self.days(0.8)),
        )

    def odd_files(self) -> tuple[OddFile, ...]:
        stuck, name = self.days(-11), f"{encoded_name(self.server('15'))}"
        return (
            # a restored backup brought it here
            OddFile(f"oldWALs/{POISON_NAME}", 64 * MIB, stuck),
            OddFile("oldWALs/restore-notes.txt", 1_402, stuck + MINUTE_MS),
            OddFile(f"oldWALs/{name}.{self.past - DAY_MS}.copy", WAL_SIZE, self.days(30)),
            OddFile(f"oldWALs/{name}.{self.past - DAY_MS + 7}", 0, stuck + HOUR_MS),
        )

    def orphans(self) -> list[OddRow]:
        """Rows of a peer that was removed: of live servers, and of one that was claimed."""
        rows = []
        for owner, source in (("3", ""), ("9", ""), ("4", "25")):
            origin = self.server(source or owner)
            group = encoded_name(origin)
            row = f"{REMOVED_PEER}-{self.server(owner)}" + (f"/{origin}" if source else "")
            rows.append(OddRow(row, group, f"{group}.{self.past - 8 * DAY_MS}", 4_711))
        return rows

    def twin(self, plan: ClusterPlan) -> OddRow:
        """The row of a second claimer, a few WALs behind the first."""
        life, stopped = self.lives["27"], self.disabled_at - 2 * HOUR_MS
        wal = wals_of(plan, life, life.streams[0], stopped)[-1]
        return OddRow(f"{DISABLED_PEER}-{self.server('8')}/{life.server}", life.streams[0].group, wal.name, 0)
