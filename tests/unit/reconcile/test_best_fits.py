"""Which servers a part of a name means."""

import pytest

from pipelines.reconcile.explain.holders import best_fits

SERVERS = [
    ("a", "rs1.example.org,16020,1"), ("a", "rs12.example.org,16020,2"), ("a", "rs12.example.org,16020,3"),
    ("b", "rs1,16020,4"), ("b", "old-rs7.example.org,16020,5"),
]  # fmt: skip


@pytest.mark.promise("server-by-any-part")
@pytest.mark.parametrize(
    ("name", "startcodes"),
    [
        ("rs12.example.org,16020,3", [3]),
        ("rs12.example.org", [2, 3]),
        ("rs1", [4]),
        ("RS12", [2, 3]),
        ("old", [5]),
        ("rs1.", [1]),
        ("rs", [1, 2, 3, 4]),
        ("s7", [1, 2, 3, 4, 5]),
    ],
)
def test_the_closest_fit_goes_first(name: str, startcodes: list[int]) -> None:
    assert [int(server.rpartition(",")[2]) for _, server in best_fits(name, SERVERS)] == startcodes
