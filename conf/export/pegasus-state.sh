#!/usr/bin/env bash
# Saves what `split-preflight` and `split-audit-config` need of a Pegasus cluster: what its own tools print.
#
#   pegasus-state.sh META_SERVERS OUT_DIR     e.g. pegasus-state.sh 10.0.0.9:34601,10.0.0.8:34601 /var/tmp/onebox
#
# It only reads. Each run makes one new directory below OUT_DIR, named after its time; it appears when everything has
# been read, so OUT_DIR is a series of states. PEGASUS names Pegasus's run.sh, if it is not ./run.sh. If ADMIN_CLI names
# the program admin-cli, the states of running splits are saved too.
set -euo pipefail

if [ $# -ne 2 ]; then
  echo "usage: $0 META_SERVERS OUT_DIR" >&2
  exit 2
fi
meta=$1
mkdir -p "$2"
out=$(cd "$2" && pwd) # run.sh changes the directory
pegasus=${PEGASUS:-./run.sh}
now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
started=$(now)
making="$out/.making.$$"
mkdir "$making"
trap 'rm -rf "$making"' EXIT
export LC_ALL=C.UTF-8

# failed WHAT: ends the script with this and with what the shell of Pegasus said
failed() {
  echo "$0: $1; it said:" >&2
  cat "$making/.said" "$making/.errors" >&2
  exit 1
}

# shell COMMAND...: runs the commands in one shell. Pegasus's shell also ends with 0 where a command failed, so `saved`
# looks for what it should have saved
shell() {
  local code=0
  printf '%s\n' "$@" | "$pegasus" shell --cluster "$meta" > "$making/.said" 2>> "$making/.errors" || code=$?
  [ "$code" = 0 ] || failed "the shell of Pegasus, $pegasus, ended with $code"
}

saved() {
  local name
  for name in "$@"; do
    [ -s "$making/$name" ] || failed "the shell of Pegasus did not answer with $name"
  done
}

shell "cluster_info -j -o $making/cluster_info.json" "ls -d -j -o $making/ls.json" \
  "nodes -d -j -o $making/nodes.json"
saved cluster_info.json ls.json nodes.json

# id and name of each table: the shell prints one pair of key and value a line
awk -F'"' '/"healthy_info"|"summary"/ { exit } $2 == "app_id" { id = $4 } $2 == "app_name" { print id, $4 }' \
  "$making/ls.json" > "$making/.tables"
while read -r id name; do
  shell "app $name -d -j -o $making/app.$id.json" "use $name" "get_app_envs -j"
  # get_app_envs has no -o: its JSON comes after the greeting of the shell
  awk '/^\{/ { found = 1 } found' "$making/.said" > "$making/app_envs.$id.json"
  saved "app.$id.json" "app_envs.$id.json"
  if [ -n "${ADMIN_CLI:-}" ]; then
    tries=0
    # a child that is registered between both answers would look like a broken split, so ask until nothing changes
    while
      mv "$making/app.$id.json" "$making/.before"
      # it ends with an error if the table is not being split; the reader judges what it said
      "$ADMIN_CLI" -m "$meta" partition-split query -a "$name" < /dev/null > "$making/split.$id.txt" 2>&1 || true
      shell "app $name -d -j -o $making/app.$id.json"
      saved "app.$id.json"
      ! cmp -s "$making/.before" "$making/app.$id.json"
    do
      if [ $((tries += 1)) -ge 5 ]; then
        echo "$0: table $name changed each time it was read; start again later" >&2
        exit 1
      fi
    done
  fi
done < "$making/.tables"

rm -f "$making"/.[a-z]*
printf '{"format": 1, "started": "%s", "finished": "%s"}\n' "$started" "$(now)" > "$making/captured.json"
mv "$making" "$out/${started//:/-}"
echo "saved: $out/${started//:/-}" >&2
