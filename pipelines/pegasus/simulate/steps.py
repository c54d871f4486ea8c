"""Collects every step that can happen next in the model of a partition split."""

from collections.abc import Iterator

from pipelines.pegasus.simulate.clients import client_steps, compaction_steps
from pipelines.pegasus.simulate.faults import fault_steps
from pipelines.pegasus.simulate.protocol import protocol_steps
from pipelines.pegasus.simulate.scans import scan_steps
from pipelines.pegasus.simulate.scope import Design, Scope
from pipelines.pegasus.simulate.world import Step, World


def steps(world: World, scope: Scope, design: Design) -> Iterator[Step]:
    """Yields every step that can happen next."""
    yield from protocol_steps(world, scope, design)
    yield from client_steps(world, scope, design)
    yield from scan_steps(world, scope, design)
    yield from compaction_steps(world, scope, design)
    yield from fault_steps(world, scope, design)
