"""Settings that an operator has to state: the layout of queue rows, and why a list is valid for long."""

import json
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from jobs.cli.config.configuration import parse_config
from tests.labs.small_cluster import Desk, clusters_of, small

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(spark, tmp_path_factory.mktemp("stated-settings"))


@pytest.mark.promise("row-layout-is-one")
def test_rows_of_the_seeds_layout_are_read_where_the_configuration_names_it(desk: Desk) -> None:
    """The claimed queue holds the same files under either spelling."""
    made = small("seeds-rows")
    in_its_form = [replace(cell, row=cell.row.replace(b"/", b"-")) for cell in made.pass_2]
    assert in_its_form != list(made.pass_2)
    written = desk.snapshot(replace(made, pass_1=tuple(in_its_form), pass_2=tuple(in_its_form)))
    refused = clusters_of(desk.reconcile(written, run_id="shipped"))["seeds-rows"]
    assert (refused["status"], "malformed queue row" in refused["reason"]) == ("REFUSED", True)
    named = parse_config("quality: {share_from: 0MiB}\nqueues: {row_layout: seed-003}", "test.yaml")
    assert clusters_of(desk.reconcile(written, run_id="named", config=named))["seeds-rows"]["status"] == "DONE"
    assert len(desk.lines("seeds-rows", "named")) == 4


@pytest.mark.promise("long-list-needs-a-reason")
def test_why_a_list_is_valid_that_long_is_recorded(desk: Desk) -> None:
    written = desk.snapshot(small("long-valid"))
    words = "change freeze until January, OPS-1"
    long = parse_config(json.dumps({"list": {"valid_for": "20d", "valid_for_reason": words}}), "test.yaml")
    desk.reconcile(written, run_id="long", config=long)
    desk.reconcile(written, run_id="usual")
    runs = desk.rows("runs", "cluster = 'long-valid'")
    assert {(one["run_id"], one["status"], one["valid_for_reason"]) for one in runs} == {
        ("long", "STARTED", words), ("long", "DONE", words), ("usual", "STARTED", None), ("usual", "DONE", None),
    }  # fmt: skip
