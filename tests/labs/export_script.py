"""Runs `conf/export/walsafe-export.sh` as shipped; `hdfs` and `hbase` are the real classes behind the usual names.

HBase's shell itself is in no Maven repository. It is a program of JRuby, whose place JRuby takes here.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.labs.cluster.classpath import (
    HBASE_CLIENT,
    HDFS,
    PYSPARK_JARS,
    QUICK,
    Artifact,
    Classpath,
    resolve,
)
from tests.labs.places import PROJECT

JRUBY = Classpath("jruby", (Artifact("org.jruby:jruby-complete:9.4.8.0"),))
# as `hbase shell -n` does: it evaluates its input line by line, in an object of its own
_SHELL = "class HBaseReceiver; def get_binding; binding; end; end; at = HBaseReceiver.new.get_binding"
_SHELL += "; STDIN.each_line { |line| eval(line, at) }"


def classes_of_hbase_3() -> list[Path]:
    """Returns the class path of HBase's client 2.6.4, which talks to HBase 3."""
    hadoop = [jar for jar in resolve(HDFS) if "minicluster" not in jar.name]
    keeper = [*PYSPARK_JARS.glob("zookeeper*.jar"), *PYSPARK_JARS.glob("netty-*.jar")]
    # pyspark's Hadoop first: the shaded HBase client brings an older one
    return [*hadoop, *keeper, *resolve(HBASE_CLIENT)]


def run_export(
    work: Path, arguments: Sequence[str], hbase: Sequence[Path], hadoop_conf: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the script, and checks that it leaves nothing half-made.

    Args:
        work: where the commands are written.
        arguments: of the script.
        hbase: the class path of `hbase` with its configuration, but for JRuby.
        hadoop_conf: the directory with the configuration of `hdfs`; None = there are no files.
    """
    java = f"exec java {' '.join(QUICK)}"
    commands = {
        "hdfs": (
            [] if hadoop_conf is None else [hadoop_conf, *resolve(HDFS)],
            "exit 0"
            if hadoop_conf is None
            else f'shift\n{java} -Xmx256m $HADOOP_CLIENT_OPTS org.apache.hadoop.fs.FsShell "$@"',
        ),
        "hbase": (
            [*resolve(JRUBY), *hbase],
            f"""test "$*" = 'shell -n' || exit 9
            {java} -Xmx512m $HBASE_SHELL_OPTS org.jruby.Main -e '{_SHELL}'""",
        ),
    }
    for name, (jars, command) in commands.items():
        script = work / name
        script.write_text(f"#!/bin/sh\nexport CLASSPATH='{os.pathsep.join(map(str, jars))}'\n{command}\n")
        script.chmod(0o755)
    environment = {**os.environ, "HDFS": str(work / "hdfs"), "HBASE": str(work / "hbase")}
    script = PROJECT / "conf" / "export" / "walsafe-export.sh"
    done = subprocess.run([str(script), *arguments], env=environment, capture_output=True, text=True, check=False)
    assert [path.name for path in work.iterdir() if "making" in path.name] == []
    return done
