"""Parses WAL names with Spark's own expressions; gives the same answers as `pipelines.hbase.wal_names`.

Nearly every name ends in a dot and thirteen digits. Those are cut as bytes, which Spark does without copying or
counting characters; all others go through the regular expression that is the definition (measured three times
faster than the expression alone; docs/adr/0002). Where a function returns columns by name, each column uses those
before it (`pipelines.common.spark.columns.in_turn`). Columns whose name begins with `_` are internal to this module;
they stay until the caller selects what it wants, because Spark analyzes a plan each time they are dropped.
"""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.hbase import wal_root
from pipelines.hbase.wal_names import MASTER_LOCAL_WAL_SUFFIX, META_SUFFIX

# `\z`, not `$`: Java's `$` also matches before a final line end
WAL_NAME_REGEX = r"^(.+)\.([0-9]+)(\.[0-9A-Za-z]+)?\z"
PROCEDURE_WAL_REGEX = r"^.*pv2-[0-9]{20}.log\z"
LINE_ENDS = ("\n", "\r", "\x85", "\u2028", "\u2029")
BAD_ESCAPE_REGEX = r"%(?![0-9A-Fa-f]{2})"
# a group of an ordinary cluster: the host is in lower case, only commas and colons are encoded, and the numbers have no
# leading zeros
ORDINARY_SERVER_REGEX = (
    r"^([a-z0-9.-]+)%2C([1-5][0-9]{4}|[1-9][0-9]{0,3})%2C([1-9][0-9]{0,17})(?![0-9])(?:[^%+]++|%2C|%3A)*+\z"
)
SERVER_REGEX = r"^[^,]+,[0-9]+,[0-9]+"
# printable ASCII except `,` `/` `[` `]`; not with exactly one colon, which Java takes for a port
HOST_REGEX = r"^(?![^:]*:[^:]*\z)[\x20-\x2b\x2d\x2e\x30-\x5a\x5c\x5e-\x7e]+\z"
ARCHIVE = f"{wal_root.OLD_WALS}/"
_TAIL = 14  # a dot and thirteen digits
_THIRTEEN_DIGITS = 10**12
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def flat_group() -> dict[str, Column]:
    """Returns the columns for the first lookup by group: nearly every file is directly in `oldWALs` in a known group.

    Needs `path`.

    Returns:
        `_size` (bytes of the path without a final `.meta`), `cut_timestamp` (ms; NULL unless the name without `.meta`
        ends in a dot and a number of thirteen digits) and `flat_group`: the text between `oldWALs/` and that dot, NULL
        if the path does not have that form. It is the group only if it contains no `/`. Searching for a `/` takes
        longer than the lookup, which settles it: no group of the table contains one.
    """
    # `.meta` can only be the suffix in the regular expression, since it is no timestamp
    size = F.octet_length("path") - F.when(is_meta_wal(), F.lit(len(META_SUFFIX))).otherwise(F.lit(0))
    # bytes compare like numbers: a dot, then a digit. A cast would trim blanks, but then the number is too small
    in_form = (
        (F.col("_size") > _TAIL)
        & (F.col("_tail") >= F.lit(b".0000000000000"))
        & (F.col("_tail") <= F.lit(b".9999999999999"))
    )
    number = F.substring("_tail", 2, _TAIL - 1).cast("string").try_cast("bigint")
    flat = F.substring("_bytes", F.lit(len(ARCHIVE) + 1), F.col("_size") - (len(ARCHIVE) + _TAIL)).cast("string")
    return {
        "_bytes": F.col("path").cast("binary"),
        "_size": size,
        "_tail": F.substring("_bytes", F.col("_size") - (_TAIL - 1), F.lit(_TAIL)),
        "_number": F.when(in_form, number),
        "cut_timestamp": F.when(F.col("_number") >= _THIRTEEN_DIGITS, F.col("_number")),
        "flat_group": F.when(F.col("cut_timestamp").isNotNull() & F.col("path").startswith(ARCHIVE), flat),
    }


def group_and_timestamp(known: Column) -> dict[str, Column]:
    """Returns the group of files whose group is not `flat_group`, and the timestamp of all files.

    Args:
        known: whether `flat_group` is the group.

    Returns:
        `other_group` (NULL where `known`, and if the name is certainly no WAL name; a cut group may still contain a
        line end, which `is_wal` rules out) and `wal_timestamp` (ms; NULL without a group or if it does not fit 64
        bits).
    """
    cut = F.col("cut_timestamp").isNotNull()
    size = F.octet_length("_name") - (F.octet_length("path") - F.col("_size")) - _TAIL
    flat = (F.col("flat_group") != F.lit("")) & ~F.col("flat_group").contains("/")
    return {
        # this is the group, but the table does not have it: there is nothing to parse
        "_flat": F.coalesce(~known & flat, F.lit(False)),
        "_name": F.when(~known & ~F.col("_flat"), name()),
        "other_group": F.when(F.col("_flat"), F.col("flat_group"))
        .when(cut & (size > 0), F.substring(F.col("_name").cast("binary"), F.lit(1), size).cast("string"))
        .when(~cut, F.nullif(F.regexp_extract("_name", WAL_NAME_REGEX, 1), F.lit(""))),
        "wal_timestamp": F.when(known, F.col("cut_timestamp"))
        .when(F.col("other_group").isNull(), F.lit(None).cast("bigint"))
        .when(cut, F.col("cut_timestamp"))
        .otherwise(F.regexp_extract("_name", WAL_NAME_REGEX, 2).try_cast("bigint")),
    }


def name() -> Column:
    """Returns the last element of the path. It is expensive: use it only where the whole path will not do."""
    return F.substring_index("path", "/", -1)


def ascii_lower(text: Column) -> Column:
    """Returns ASCII text in lower case: Spark's own `lower` loads Unicode's tables, half a second per session."""
    return F.when(text.rlike("[A-Z]"), F.translate(text, _UPPER, _LOWER)).otherwise(text)


def directory() -> Column:
    """Returns the path without its last element and the slash before it."""
    size = F.octet_length("path") - F.octet_length(name()) - 1
    return F.substring(F.col("path").cast("binary"), F.lit(1), size).cast("string")


def is_wal() -> Column:
    """Whether the name is a valid WAL name; needs `wal_group` and `cut_timestamp`."""
    cut = F.col("cut_timestamp").isNotNull()
    # five searches for bytes are quicker than one regular expression
    line_end = reduce(Column.__or__, (F.col("wal_group").contains(F.lit(end)) for end in LINE_ENDS))
    return F.col("wal_group").isNotNull() & (~cut | ~line_end)


def is_procedure_wal() -> Column:
    """Whether the name is that of a procedure WAL of HBase 2.0 to 2.2."""
    return name().rlike(PROCEDURE_WAL_REGEX)


def is_master_local_wal() -> Column:
    """Whether the name is that of an archived WAL of the master's local region."""
    return F.col("path").endswith(MASTER_LOCAL_WAL_SUFFIX)


def is_meta_wal() -> Column:
    """Whether the name is that of a WAL of hbase:meta."""
    return F.col("path").endswith(META_SUFFIX)


def own_server(wanted: Column, otherwise: Column | None = None) -> dict[str, Column]:
    """Returns `own_server` and the columns it needs: `host,port,startcode` at the start of the decoded name.

    The host is in lower case. The result is NULL where HBase throws, and `otherwise` where `wanted` is false, because
    this is the most expensive part of a name. Needs `wal_group`, which contains all of the name that can be encoded.
    """
    group = F.col("wal_group")
    parsed = F.when(F.col("_ordinary") != group, F.col("_ordinary")).when(
        F.col("_host").rlike(HOST_REGEX) & F.col("_port").between(0, 65535) & F.col("_startcode").isNotNull(),
        F.concat_ws(
            ",", ascii_lower(F.col("_host")), F.col("_port").cast("string"), F.col("_startcode").cast("string")
        ),
    )
    return {
        "_ordinary": F.when(wanted, F.regexp_replace("wal_group", ORDINARY_SERVER_REGEX, "$1,$2,$3")),
        "_decoded": F.when(
            wanted & (F.col("_ordinary") == group) & ~group.rlike(BAD_ESCAPE_REGEX), F.try_url_decode("wal_group")
        ),
        "_server": F.regexp_extract("_decoded", SERVER_REGEX, 0),
        "_host": F.regexp_replace(F.substring_index("_server", ",", 1), r"^\[(.*)\]\z", "$1"),
        "_port": F.split_part(F.col("_server"), F.lit(","), F.lit(2)).try_cast("int"),
        "_startcode": F.split_part(F.col("_server"), F.lit(","), F.lit(3)).try_cast("bigint"),
        "own_server": parsed if otherwise is None else F.when(wanted, parsed).otherwise(otherwise),
    }
