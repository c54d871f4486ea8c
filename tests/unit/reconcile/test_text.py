"""The answer of reconcile for eyes: a paused clean-up is said first, and never left out of a fleet."""

from dataclasses import replace

from pipelines.common.conditions import Condition
from pipelines.lake.run_summary import FindingRow, RunSummary, VerdictTotal
from pipelines.reconcile.text import reconcile_result, reconcile_text

NOW = 1_795_224_000_000
REWOUND = FindingRow(
    "QUEUE_TABLE_REWOUND:1", "QUEUE_TABLE_REWOUND", "error", "1", "1", None, "Peer 1 is back.", "{}", "Compare.",
    None, None, NOW, 2, is_new=False,
)  # fmt: skip
ONE = RunSummary(
    "prod-a", "night-3", "DONE", "NIGHTLY", 0, None, NOW, (VerdictTotal("DELETABLE", "REPLICATED", "DELETE", 12, 30),)
)
PAUSED = replace(ONE, cluster="prod-b", findings=(REWOUND,))


def test_a_paused_clean_up_is_said_before_any_number_of_files() -> None:
    lines = reconcile_text([PAUSED], {}).splitlines()
    assert lines[1] == "  Clean-up is paused: QUEUE_TABLE_REWOUND in run night-3, the newest of cluster prod-b."
    assert next(number for number, line in enumerate(lines) if "files" in line) > 1
    assert "paused" not in reconcile_text([ONE], {})


def test_an_older_night_does_not_say_whether_the_clean_up_is_paused_now() -> None:
    for status in ("DONE", "REFUSED"):
        older = replace(PAUSED, is_newest=False, status=status)
        assert "paused" not in reconcile_text([older], {})
        assert reconcile_result([older], {})["clusters"][0]["paused"] is None  # type: ignore[index]


def test_a_reason_has_one_line_whatever_hbase_would_do() -> None:
    kept, deleted, other = ("LEFTOVER", "KEEP", 1, 10), ("LEFTOVER", "DELETE", 2, 30), ("TOO_YOUNG", "KEEP", 5, 20)
    totals = tuple(VerdictTotal("HELD", *one) for one in (deleted, other, kept))
    lines = [line.split() for line in reconcile_text([replace(ONE, totals=totals)], {}).splitlines()]
    begin = next(place for place, line in enumerate(lines) if line[:1] == ["HELD"])
    assert [line[:2] for line in lines[begin + 1 : begin + 3]] == [["LEFTOVER", "3"], ["TOO_YOUNG", "5"]]


def test_a_large_fleet_shows_who_is_paused_though_nothing_is_new() -> None:
    text = reconcile_text([*(replace(ONE, cluster=f"c{number}") for number in range(9)), PAUSED], {})
    assert text.startswith("prod-b  run night-3")
    assert "9 of 10 clusters are done without anything to say" in text


def test_programs_are_told_too() -> None:
    refused = replace(ONE, status="REFUSED", reason="order", totals=())
    told = [one["paused"] for one in reconcile_result([ONE, PAUSED, refused], {})["clusters"]]  # type: ignore[attr-defined]
    assert told[0] is None
    assert [one["key"] for one in told[1]["findings"]] == ["QUEUE_TABLE_REWOUND:1"]
    assert (told[2]["findings"], "was REFUSED (order)" in told[2]["unknown"]) == ([], True)


def test_a_refused_cluster_has_the_name_of_its_condition() -> None:
    refused = replace(ONE, status="REFUSED", reason="order", condition=Condition.SNAPSHOT_OUT_OF_ORDER)
    clusters = reconcile_result([ONE, refused], {})["clusters"]
    assert [one["condition"] for one in clusters] == [None, "SNAPSHOT_OUT_OF_ORDER"]  # type: ignore[attr-defined]
