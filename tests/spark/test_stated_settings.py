"""Settings that an operator has to state: the layout of queue rows, and why a list is valid for long."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.config.configuration import parse_config
from tests.labs.small_cluster import Desk, clusters_of, small

pytestmark = pytest.mark.long


WORDS = "change freeze until January, OPS-1"
STATED = {
    "quality": {"share_from": "0MiB"},
    "queues": {"row_layout": "seed-003"},
    "list": {"valid_for": "20d", "valid_for_reason": WORDS},
}


@pytest.fixture(scope="module")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(spark, tmp_path_factory.mktemp("stated-settings"))


@pytest.fixture(scope="module")
def nights(desk: Desk) -> dict[str, dict[str, dict[str, Any]]]:
    """What a run without the settings says of each cluster, and what one with them says.

    The claimed queue of one cluster holds the same files under either spelling.
    """
    made = small("seeds-rows")
    in_its_form = tuple(replace(cell, row=cell.row.replace(b"/", b"-")) for cell in made.pass_2)
    assert in_its_form != made.pass_2
    written = desk.snapshot(replace(made, pass_1=in_its_form, pass_2=in_its_form))
    usual = desk.reconcile(written, desk.snapshot(small("shipped-rows")), run_id="usual")
    stated = desk.reconcile(written, run_id="stated", config=parse_config(json.dumps(STATED), "test.yaml"))
    return {"usual": clusters_of(usual), "stated": clusters_of(stated)}


@pytest.mark.promise("row-layout-is-one")
def test_rows_of_the_seeds_layout_are_read_where_the_configuration_names_it(
    desk: Desk, nights: dict[str, dict[str, dict[str, Any]]]
) -> None:
    refused = nights["usual"]["seeds-rows"]
    assert (refused["status"], "malformed queue row" in refused["reason"]) == ("REFUSED", True)
    assert nights["stated"]["seeds-rows"]["status"] == "DONE"
    assert len(desk.lines("seeds-rows", "stated")) == 4


@pytest.mark.promise("long-list-needs-a-reason")
def test_why_a_list_is_valid_that_long_is_recorded(desk: Desk, nights: dict[str, dict[str, dict[str, Any]]]) -> None:
    assert nights["usual"]["shipped-rows"]["status"] == "DONE"
    runs = [*desk.run_rows("seeds-rows", "stated"), *desk.run_rows("shipped-rows")]
    assert {(one["run_id"], one["status"], one["valid_for_reason"]) for one in runs} == {
        ("stated", "STARTED", WORDS), ("stated", "DONE", WORDS), ("usual", "STARTED", None), ("usual", "DONE", None),
    }  # fmt: skip
