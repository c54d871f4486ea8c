"""Hides secrets of peers, so that they never reach a snapshot, a table, a report or a log."""

import re
from dataclasses import replace

from pipelines.hbase.peers import Peer

HIDDEN = "(hidden)"
_TELLING_PART = (
    r"pass|pwd|secret|token|credential|jaas|keytab|fs\.azure\.account|crypto"
    r"|(?:api|access|private|account|encryption|shared)[._-]?key"
)
TELLING_NAME = rf"{_TELLING_PART}|(?:^|[._-])key$"
"""The names of secret values; the export script has the same pattern."""
_SECRET_KEY = re.compile(TELLING_NAME, re.IGNORECASE)
_USER_INFO = re.compile(r"(?<=//)[^/?#]*@")
_WORD = r"[^=?&;,\s]*"
_PARAMETER = re.compile(
    rf"((?:^|[?&;,\s])(?:{_WORD}(?:{_TELLING_PART}){_WORD}|(?:{_WORD}[._-])?key)=)[^&;,\s]*", re.IGNORECASE
)


def without_secrets(peer: Peer) -> Peer:
    """Returns the peer with all values hidden that look like secrets.

    These are the values of configuration keys whose name suggests a password, token, key or login; `user:password@` of
    any URI; and the value in each `name=value` part of a value or of the cluster key, if that name suggests such a
    secret.
    """
    config = None if peer.config is None else {key: _config_value(key, value) for key, value in peer.config.items()}
    return replace(
        peer,
        cluster_key=None if peer.cluster_key is None else _inside(peer.cluster_key),
        remote_wal_dir=None if peer.remote_wal_dir is None else _inside(peer.remote_wal_dir),
        config=config,
    )


def without_user_info(uri: str) -> str:
    """Returns a URI with `user:password@` and the values of secret parameters hidden."""
    return _inside(uri)


def _config_value(key: str, value: str) -> str:
    return HIDDEN if _SECRET_KEY.search(key) else _inside(value)


def _inside(value: str) -> str:
    return _PARAMETER.sub(rf"\1{HIDDEN}", _USER_INFO.sub(f"{HIDDEN}@", value))
