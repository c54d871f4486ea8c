#!/usr/bin/env bash
# Saves what `capture` needs, on a host where `hdfs` and `hbase` work, for sites that allow no other client.
#
#   walsafe-export.sh WAL_ROOT OUT_DIR [table|zookeeper]
#   e.g. walsafe-export.sh hdfs://ns1/hbase /var/tmp/walsafe-export
#
# The third word says where HBase keeps its replication queues: `table` is HBase 3, `zookeeper` is HBase 1.x and 2.x.
# It only reads. Each part is stamped in UTC before and after, and ends with a line that says so: a part without it is
# refused, as is any other order of the parts. OUT_DIR must not exist; it appears when everything has been read.
# HDFS and HBASE name the two commands, if they are not on PATH. Kerberos: run kinit first.
set -euo pipefail

storage=${3-table}
case "$#:$storage" in
  2:table | 3:table) script=walsafe-export.rb last=crashing-2 ;;
  3:zookeeper) script=walsafe-export-zookeeper.rb last=settings ;;
  *)
    echo "usage: $0 WAL_ROOT OUT_DIR [table|zookeeper]" >&2
    exit 2
    ;;
esac
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
# where the queues are in ZooKeeper, the listing itself shows the directories
[ "$storage" = zookeeper ] || part wal_directories list WALs
# one line: the shell evaluates what it is given line by line, in a class of its own
WALSAFE_EXPORT_DIR="$making" WALSAFE_EXPORT_HOST="$host" WALSAFE_EXPORT_SCRIPT="$here/$script" \
  "$hbase" shell -n <<< "load ENV['WALSAFE_EXPORT_SCRIPT']" >&2
test -f "$making/$last.txt" || { echo "$0: the hbase shell ended early" >&2; exit 1; }
mv "$making" "$out"
echo "saved: $out" >&2
