# Sourced by spark-submit.sh, tests/run and .ci/run, with PROJECT set: the checks and the quick look before every start.
# shellcheck shell=bash

die() { # exit code, message
    printf 'walsafe: %s\n' "$2" >&2
    exit "$1"
}

# Sets SYSTEM_PYTHON: any Python >= 3.11; only WALSAFE_PYTHON if it is given.
find_python() {
    local candidate
    for candidate in ${WALSAFE_PYTHON:+"$WALSAFE_PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            SYSTEM_PYTHON=$candidate
            return
        fi
        [[ $candidate != "${WALSAFE_PYTHON:-}" ]] ||
            die 2 "WALSAFE_PYTHON is $candidate, which is not Python 3.11 or newer: correct it, or unset it."
    done
    if command -v python3 >/dev/null 2>&1; then
        die 2 "$(python3 --version 2>&1 | head -n 1) is too old: install Python 3.11 or newer and put it on PATH (or name it in WALSAFE_PYTHON)."
    fi
    die 2 "Python is missing: install Python 3.11 or newer and put it on PATH (or name it in WALSAFE_PYTHON)."
}

# Sets JAVA: a java command of version 17, 21 or 25.
find_java() {
    local version home told
    if [[ -n ${JAVA_HOME:-} ]]; then
        JAVA=$JAVA_HOME/bin/java
        [[ -x $JAVA ]] || die 2 "JAVA_HOME is $JAVA_HOME, which has no bin/java: point it to a Java 17, 21 or 25, or unset it."
    else
        JAVA=$(command -v java) || die 2 "Java is missing: install Java 17, 21 or 25 (Debian: apt-get install default-jre-headless) or set JAVA_HOME."
    fi
    # a JDK says its version in a file; asking it costs a JVM start
    home=$(readlink -f "$JAVA" 2>/dev/null) || home=$JAVA
    home=${home%/bin/java}
    if [[ -r $home/release ]]; then
        version=$(sed -n 's/^JAVA_VERSION="\([^"]*\)".*/\1/p' "$home/release")
    else
        told=$("$JAVA" -XshowSettings:properties -version 2>&1) || told=
        version=$(sed -n 's/.* version "\([^"]*\)".*/\1/p' <<<"$told" | head -n 1)
        home=$(sed -n 's/^ *java\.home = //p' <<<"$told")
        # the java of a version manager is a script, and Spark looks for bin/java beside it
        [[ ! -x $home/bin/java ]] || JAVA=$home/bin/java
    fi
    case ${version:-} in
    17 | 17.* | 17[+-]* | 21 | 21.* | 21[+-]* | 25 | 25.* | 25[+-]*) ;;
    '') die 2 "$JAVA does not say its version: install Java 17, 21 or 25, or point JAVA_HOME to one." ;;
    *) die 2 "Java $version is not supported: install Java 17, 21 or 25, or point JAVA_HOME to one." ;;
    esac
}

# Whether .venv and .jars are what this tree wants; a few milliseconds. $1: '' or '-dev'.
is_ready() {
    local python
    [[ -x $PROJECT/.venv/bin/python && ! -e $PROJECT/.venv/.incomplete ]] || return
    # the system's Python may have become another, for which nothing is installed
    python=$(readlink -f "$PROJECT/.venv/bin/python")
    [[ ${python##*/} != python3.* || -d $PROJECT/.venv/lib/${python##*/}/site-packages ]] &&
        cmp -s "$PROJECT/requirements.txt" "$PROJECT/.venv/walsafe-installed" &&
        cmp -s "$PROJECT/requirements${1:-}.txt" "$PROJECT/.venv/walsafe-installed${1:-}" &&
        cmp -s "$PROJECT/jars.lock" "$PROJECT/.jars/jars.lock"
}

# Makes it so. $1: '' or '-dev'.
set_up() {
    is_ready "${1:-}" && return
    find_python
    find_java
    # umask: the service user reads what another user sets up; -I: PYTHONPATH stays out of it
    (umask 022 && exec "$SYSTEM_PYTHON" -I "$PROJECT/scripts/set_up.py" --project "$PROJECT" --java "$JAVA" ${1:+--dev}) || exit
}
