"""Clusters of `jobs.demo.cluster`, which are in a state that HBase can be in; hypothesis makes the choices."""

from hypothesis import strategies as st

from jobs.demo.cluster.capture import capture_at
from jobs.demo.cluster.model import ClusterPlan, GeneratedCapture
from pipelines.decide.rule.settings import ReconcileSettings
from tests.models.capture.captured import captured
from tests.models.capture.walk import walk
from tests.models.drawn import drawn_plan
from tests.strategies.clusters import NOW, ClusterCase, cluster_cases

_MOST_SEEDS = 10**6


@st.composite
def plans(draw: st.DrawFn) -> ClusterPlan:
    """A cluster and its life until `NOW`."""
    return drawn_plan(lambda least, most: draw(st.integers(least, most)), NOW)


def case_of(made: GeneratedCapture) -> ClusterCase:
    """A generated capture as it is decided on with settings that change nothing."""
    old = tuple(file for file in made.files if file.path.startswith("oldWALs/"))
    live = tuple(file for file in made.files if not file.path.startswith("oldWALs/"))
    return ClusterCase(made.snapshot, old, live, made.pass_1, made.pass_2, ReconcileSettings())


def any_cases() -> st.SearchStrategy[ClusterCase]:
    """Half of them full of traps, half of them true to life."""
    return st.booleans().flatmap(lambda true_to_life: generated_cases() if true_to_life else cluster_cases())


def generated_cases() -> st.SearchStrategy[ClusterCase]:
    """A drawn life that a capture comes upon, or a history of the adversary in which it is interleaved."""
    lives = plans().map(lambda plan: case_of(capture_at(plan, NOW)))
    histories = st.integers(0, _MOST_SEEDS).map(lambda seed: case_of(captured(walk(seed), NOW)))
    return st.one_of(lives, histories)
