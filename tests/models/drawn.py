"""Draws the life of a cluster choice by choice: by hypothesis, which then shrinks a failing example, or by a seed.

Everything that `ClusterPlan` knows may happen, at any instant up to and within a capture. The parts are consistent with
each other, as HBase's own states are; `tests/strategies` adds what no HBase writes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from jobs.demo.cluster import model
from jobs.demo.cluster.parts import active_master, encoded_name, meta_stream, new_life, with_streams
from jobs.demo.cluster.wals import wals_of
from pipelines.common.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from pipelines.hbase.peers import Peer
from tests.models.oddities import INVALID_FORMS, ODD_NAMES, TRAP_PEERS, VALID_FORMS

Choose = Callable[[int, int], int]
"""A whole number from the first to the second, both included: `Random(seed).randint`, or a draw of hypothesis."""
ItemT = TypeVar("ItemT")
_CAPTURE_MS = 15 * SECOND_MS
"""Longer than `capture_at` takes, so that things happen within it."""
_PAST_MS = 3 * HOUR_MS
"""How far back WALs go; a group rolls about every 26 minutes."""
_MOST_HOSTS = 4
"""Some of them have two lives."""
_MOST_PEERS = 3
_MOST_CLAIMS = 3
_MOST_ODDITIES = 3
"""Odd files, odd rows, stalled queues and tampered WALs, of each."""


def drawn_plan(choose: Choose, night: int) -> model.ClusterPlan:
    """A cluster, and what happens to it until the capture of one night.

    Args:
        choose: makes every choice; the same answers give the same cluster.
        night: the start of step `files`, ms; ask `capture_at` for that instant, or for a later one.
    """
    return _Drawing(choose, night).plan()


class _Drawing:
    """Draws one cluster."""

    def __init__(self, choose: Choose, night: int) -> None:
        self.choose = choose
        self.night = night
        self.past = night - _PAST_MS

    def plan(self) -> model.ClusterPlan:
        hosts = range(1, self.choose(1, _MOST_HOSTS) + 1)
        lives = [life for host in hosts for life in self.lives(host)]
        lives = [replace(life, claims=self.claims(life, lives)) for life in lives]
        peers = tuple(map(self.peer, TRAP_PEERS[: self.choose(0, _MOST_PEERS)]))
        plan = model.ClusterPlan(
            cluster="drawn",
            seed=self.choose(0, 99),
            wal_root="hdfs://drawn/hbase",
            master=active_master(self.past),
            lives=tuple(lives),
            peers=peers,
            cleaner_stuck_since=self.one_of((self.past, self.past, self.past, model.NEVER)),
            procedure_wals=(self.past,) * self.choose(0, 1),
            master_wals_every=self.one_of((0, 3 * DAY_MS)),
        )
        return replace(
            plan,
            held=tuple(self.some(lambda: self.held(plan))) if peers else (),
            odd_files=tuple({odd.path: odd for odd in self.some(lambda: self.odd_file(lives))}.values()),
            odd_rows=tuple(self.some(lambda: self.odd_row(plan))),
            tampering=tuple(
                self.some(
                    lambda: model.Tampering(self.one_of(lives).server, self.earlier(), self.one_of((None, 0, 85)))
                )
            ),
        )

    def one_of(self, items: Sequence[ItemT]) -> ItemT:
        return items[self.choose(0, len(items) - 1)]

    def some(self, draw: Callable[[], ItemT]) -> list[ItemT]:
        """Draws a list, which is empty in most cases."""
        return [draw() for _ in range(max(0, self.choose(-2, _MOST_ODDITIES)))]

    def earlier(self) -> int:
        return self.choose(self.past, self.night)

    def about_now(self) -> int:
        """Some minutes before the capture, or within it."""
        return self.night + self.choose(-5 * 60, _CAPTURE_MS // SECOND_MS) * SECOND_MS

    def lives(self, host: int) -> list[model.ServerLife]:
        """One host: it lives, is dead, has crashed just now, came back, has only just started."""
        kind = self.choose(0, 7)
        if kind <= 2:
            return [self.life(host, self.past - 30 * DAY_MS, self.past, model.NEVER)]
        if kind == 7:
            started = self.about_now()
            died = started + self.choose(1, 60) * SECOND_MS if self.choose(0, 1) else model.NEVER
            return [self.life(host, started, started, died)]
        died = self.about_now() if kind == 3 else self.earlier()
        old = self.life(host, self.past - 30 * DAY_MS, self.past, died)
        if kind < 6:
            return [old]
        again = died + self.choose(1, 10) * MINUTE_MS
        return [old, self.life(host, again, again, model.NEVER)]

    def life(self, host: int, started: int, first_wal: int, died: int) -> model.ServerLife:
        recovered = died if died == model.NEVER else died + self.choose(1, 600) * SECOND_MS
        leftover = recovered != model.NEVER and self.choose(0, 7) == 7
        groups = self.one_of((1, 1, 1, 2))
        life = new_life(host, started, first_wal, died, recovered, leftover_directory=leftover, regiongroups=groups)
        if self.choose(0, 7) == 7:
            life = with_streams(life, meta_stream(life.server, first_wal))
        if self.choose(0, 7) == 7:
            group = f"{encoded_name(life.server)}.rep"
            leaked = model.WalStream(group, "", first_wal, HOUR_MS, model.MIB, tracked=False, leaked=True)
            life = with_streams(life, leaked)
        return life

    def claims(self, life: model.ServerLife, lives: Sequence[model.ServerLife]) -> tuple[model.Claim, ...]:
        """Whoever is alive then has its queues, until it dies as well."""
        claims: list[model.Claim] = []
        at = life.recovered
        while at != model.NEVER and len(claims) < _MOST_CLAIMS:
            at += self.choose(0, 60) * SECOND_MS
            alive = [one for one in lives if one.started <= at < one.died]
            if not alive:
                break
            owner = self.one_of(alive)
            claims.append(model.Claim(at, owner.server))
            at = owner.recovered
        return tuple(claims)

    def peer(self, peer_id: str) -> model.PeerPlan:
        lag = self.one_of((0, SECOND_MS, 2 * MINUTE_MS, HOUR_MS, DAY_MS))
        if self.choose(0, 3) < 3:
            return model.PeerPlan(Peer(peer_id, "ENABLED"), lag)
        return model.PeerPlan(Peer(peer_id, "DISABLED"), lag, self.earlier())

    def held(self, plan: model.ClusterPlan) -> model.Held:
        since = self.earlier()
        stalled = self.one_of(plan.peers).peer.peer_id
        return model.Held(stalled, self.one_of(plan.lives).server, since, since - self.choose(0, 90) * MINUTE_MS)

    def odd_file(self, lives: Sequence[model.ServerLife]) -> model.OddFile:
        stream = self.one_of(self.one_of(lives).streams)
        form = self.one_of(("", *VALID_FORMS, *INVALID_FORMS))
        at = self.earlier()
        name = form.format(group=stream.group, ts=at, short=at // SECOND_MS) or self.one_of(ODD_NAMES)
        return model.OddFile(
            f"oldWALs/{name}", self.one_of((0, 85, model.MIB)), self.one_of((self.past, at, self.night))
        )

    def odd_row(self, plan: model.ClusterPlan) -> model.OddRow:
        """A row of a removed peer, or the row of a second claimer, far behind the first."""
        life, owner = self.one_of(plan.lives), self.one_of(plan.lives)
        peer = self.one_of(("9", *(peer.peer.peer_id for peer in plan.peers)))
        stream = life.streams[0]
        wals = wals_of(plan, life, stream, self.night)
        wal = wals[0].name if wals else f"{stream.group}.{stream.starts}"
        return model.OddRow(f"{peer}-{owner.server}/{life.server}", stream.group, wal, 0)
