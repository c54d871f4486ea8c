"""Spark's functions are loaded in a JVM before there is a session, without which a job starts later, but starts."""

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from jobs.cli.spark_functions import begin_loading, load_functions, wait_for_functions


def test_the_gateway_of_a_job_loads_them(spark: SparkSession) -> None:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    load_functions(gateway.gateway_parameters.port, gateway.gateway_parameters.auth_token)
    assert spark.range(1).count() == 1, "the session's own connection is still there"


def test_another_password_is_refused(spark: SparkSession) -> None:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    with pytest.raises(Py4JError):
        load_functions(gateway.gateway_parameters.port, "another")


def test_a_gateway_that_does_not_answer_stops_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "any")
    begin_loading()
    wait_for_functions()
