#!/usr/bin/env bash
# Saves what `capture` needs, on a host where `hdfs` and `hbase` work, for sites that allow no other client.
#
#   walsafe-export.sh WAL_ROOT OUT_DIR        e.g. walsafe-export.sh hdfs://ns1/hbase /var/tmp/walsafe-export
#
# It only reads. Each part is stamped in UTC before and after, and ends with a line that says so: a part without it is
# refused, as is any other order of the parts. OUT_DIR must not exist; it appears when everything has been read.
# HDFS and HBASE name the two commands, if they are not on PATH. Kerberos: run kinit first.
set -euo pipefail

if [ $# -ne 2 ]; then
  echo "usage: $0 WAL_ROOT OUT_DIR" >&2
  exit 2
fi
root=${1%/}
out=${2%/}
hdfs=${HDFS:-hdfs}
hbase=${HBASE:-hbase}
here=$(cd "$(dirname "$0")" && pwd)
if [ -e "$out" ]; then
  echo "$0: $out exists already; give a directory that does not exist yet" >&2
  exit 2
fi
making="$out.making.$$"
mkdir -p "$making"
trap 'rm -rf "$making"' EXIT

# times are printed in the zone of the JVM
export TZ=UTC LC_ALL=C.UTF-8
export HADOOP_CLIENT_OPTS="${HADOOP_CLIENT_OPTS:-} -Duser.timezone=UTC -Dfile.encoding=UTF-8 -Dsun.stdout.encoding=UTF-8"
export HBASE_SHELL_OPTS="${HBASE_SHELL_OPTS:-} -Duser.timezone=UTC"

host=$(hostname)
now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }

# part STEP COMMAND...: the output between two stamps; any failure ends the export
part() {
  local step=$1
  shift
  {
    echo "# walsafe-export 1 $step started $(now) host $host zone UTC"
    "$@"
    echo "# walsafe-export end $step finished $(now) status 0"
  } > "$making/$step.txt"
}

list() {
  local directory
  for directory in "$@"; do
    # there only where synchronous replication is used
    if [ "$directory" != remoteWALs ] || "$hdfs" dfs -test -d "$root/$directory"; then
      "$hdfs" dfs -ls -R "$root/$directory"
    fi
  done
}

part files list WALs remoteWALs oldWALs
part wal_directories list WALs
WALSAFE_EXPORT_DIR="$making" WALSAFE_EXPORT_HOST="$host" "$hbase" shell -n "$here/walsafe-export.rb" < /dev/null >&2
test -f "$making/crashing-2.txt" || { echo "$0: the hbase shell ended early" >&2; exit 1; }
mv "$making" "$out"
echo "saved: $out" >&2
