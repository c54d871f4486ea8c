"""A Spark session for queries over few rows, such as the small tables of the lake or a small listing.

For each query Spark generates Java code, compiles it and loads the class, which pays off over many rows only. This
module keeps a second session in which code generation is off, so that Spark interprets the expressions: a night of a
thousand files takes 46 CPU seconds instead of 52. The answers are the same: `tests/spark/test_verdicts.py` runs both
ways.
"""

from threading import Lock
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

FEW = 50_000
"""Up to this number of rows Spark interprets a query; a round number, not a measured limit."""
_AS_IT_STANDS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # adaptive execution would make a job of every exchange
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
_LOCK = Lock()
_SESSIONS: WeakKeyDictionary[SparkSession, SparkSession] = WeakKeyDictionary()


def few(rows: int) -> bool:
    """Returns whether so many rows are few."""
    return rows <= FEW


def at_hand(frame: DataFrame, rows: int) -> DataFrame:
    """Returns a frame of few rows with its rows in the driver, so that no later query computes or reads them again.

    The session without code generation runs these queries.

    Args:
        frame: any frame.
        rows: its number of rows, approximately; a frame of more than `FEW` rows is returned as it is.
    """
    return for_few_rows(frame.sparkSession).createDataFrame(frame.toArrow(), frame.schema) if few(rows) else frame


def session_for_rows(session: SparkSession, rows: int) -> SparkSession:
    """Returns the session itself for many rows, and the session without code generation for at most `FEW` rows."""
    return for_few_rows(session) if few(rows) else session


def for_few_rows(session: SparkSession) -> SparkSession:
    """Returns the session without code generation that belongs to this session, always the same one.

    Both sessions belong to the same application. Their frames may be joined; the session of the left frame runs the
    query.
    """
    with _LOCK:
        if session in _SESSIONS.values():
            return session
        found = _SESSIONS.get(session)
        if found is None:
            found = session.newSession()
            for name, value in _AS_IT_STANDS.items():
                found.conf.set(name, value)
            _SESSIONS[session] = found
        return found
