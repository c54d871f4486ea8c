"""A job of the tests that ends in the requested way, so that each way can be observed through spark-submit."""

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec

from jobs.cli.context import JobContext, project_file
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.common.job_result import JobResult

DESCRIPTION = "Does what it is told."
NEEDS_SPARK = True


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", choices=("exit", "refuse", "delta", "sleep", "unreachable"))
    parser.add_argument("--code", type=int, default=0)
    parser.add_argument("--path")
    parser.add_argument("--config")


def run(args: Namespace, context: JobContext) -> JobResult:
    sys.stderr.write("said on standard error\n")
    if args.what == "refuse":
        raise RefusedError(Condition.SNAPSHOT_OUT_OF_ORDER, "the order of the capture is wrong")
    if args.what == "delta":
        return _delta(args, context)
    if args.what == "unreachable":
        context.spark.read.text("hdfs://127.0.0.1:1/x").count()
    if args.what == "sleep":
        context.spark.range(1).count()
        sys.stderr.write(f"READY {os.getpid()}\n")
        sys.stderr.flush()
        time.sleep(3_600)  # the test ends it
    config = context.local_file(args.config).read_text(encoding="utf-8") if args.config else None
    spark = find_spec("pyspark")
    assert spark is not None
    shipped = len(project_file("conf/demo.yaml"))
    result = {"module": __file__, "spark": spark.origin, "config": config, "shipped": shipped}
    return JobResult(args.code, result, f"ended with {args.code}: ü")


def _delta(args: Namespace, context: JobContext) -> JobResult:
    context.spark.range(10).write.format("delta").mode("overwrite").save(args.path)
    rows = context.spark.read.format("delta").load(args.path).count()
    conf = context.spark.conf
    result = {
        "rows": rows,
        "zone": conf.get("spark.sql.session.timeZone"),
        "master": context.spark.sparkContext.master,
        "partitions": conf.get("spark.sql.shuffle.partitions"),
    }
    return JobResult(0, result, f"{rows} rows")
