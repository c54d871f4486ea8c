"""Spark for queries over few rows: such as those over the small tables of the lake, and all of a small listing.

For each query Spark writes Java, compiles it and loads the class. Over many rows that pays for itself; over few it was
a quarter of a small night's samples in a profile (docs/adr/0023). A session of its own has that switched off, so that
expressions are evaluated as they stand: the same answers (`tests/spark/test_verdicts.py` asks both ways).
"""

from threading import Lock
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

FEW = 50_000
"""Rows up to which a query is evaluated as it stands; not measured to the row."""
_AS_IT_STANDS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_LOCK = Lock()
_SESSIONS: WeakKeyDictionary[SparkSession, SparkSession] = WeakKeyDictionary()


def fitting(session: SparkSession, rows: int) -> SparkSession:
    """The session itself, or the one for few rows."""
    return session if rows > FEW else for_few_rows(session)


def for_few_rows(session: SparkSession) -> SparkSession:
    """A session of the same application that compiles nothing; always the same one for a session.

    Frames of both may be joined: the left one's session runs the query.
    """
    with _LOCK:
        found = _SESSIONS.get(session)
        if found is None:
            found = session.newSession()
            for name, value in _AS_IT_STANDS.items():
                found.conf.set(name, value)
            _SESSIONS[session] = found
        return found
