"""`python -m tests.mutation`: tries the changes, and says which of them no test fails with.

    python -m tests.mutation [--group NAME] [--target NAME] [--survivors] [--record]

What was found is kept in `.cache/mutation` as long as no Python file of the product or of the tests changes, so a run
that was stopped goes on where it was.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import TextIO

from tests.labs.places import PROJECT
from tests.mutation.mutants import Mutant
from tests.mutation.record import Module, digest_of, read_record, write_record
from tests.mutation.targets import GROUPS, Group, Target
from tests.mutation.trial import judge

ROOT = PROJECT
KEPT = ROOT / ".cache" / "mutation"
Found = dict[tuple[str, str], str | None]


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Try changes of the product.")
    parser.add_argument("--group", action="append", help="only of this group")
    parser.add_argument("--target", action="append", help="only of this module, by its name in targets.py")
    parser.add_argument("--survivors", action="store_true", help="only those that the record names")
    parser.add_argument("--record", action="store_true", help="write record.json; what is new in it has no reason yet")
    options = parser.parse_args()
    groups = [
        group
        for group in GROUPS
        if (not options.group or group.name in options.group)
        and (not options.target or any(target.name in options.target for target in group.targets))
    ]
    if not groups:
        parser.error("no such group or target: tests/mutation/targets.py names them")
    if len(groups) > 1:  # each in a process of its own: what one has imported and started is none of another's
        command = [sys.executable, "-m", "tests.mutation", *sys.argv[1:]]
        return max(subprocess.call([*command, "--group", group.name], cwd=ROOT) for group in groups)
    with os.fdopen(os.dup(1), "w") as out:  # pytest takes the other one
        targets = [one for one in groups[0].targets if not options.target or one.name in options.target]
        return _try(groups[0], targets, out, survivors=options.survivors, record=options.record)


def _try(group: Group, targets: Iterable[Target], out: TextIO, *, survivors: bool, record: bool) -> int:
    old = read_record()
    files = {one.name: one.module.replace(".", "/") + ".py" for one in targets}
    explained = {name: old.get(name, Module()).survivors for name in files}
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{_digest()}-{group.name.replace(' ', '-')}.jsonl"
    found: Found = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            name, key, by = json.loads(line)
            found[name, key] = by
    there: dict[str, set[str]] = {name: set() for name in files}

    def wanted(name: str, key: str) -> bool:
        if name not in files:
            return False
        there[name].add(key)
        return (name, key) not in found and (not survivors or key in explained[name])

    with kept.open("a") as keep:

        def tell(name: str, mutant: Mutant, by: str | None) -> None:
            found[name, mutant.key] = by
            keep.write(json.dumps([name, mutant.key, by]) + "\n")
            keep.flush()
            if by is None and not explained[name].get(mutant.key):
                out.write(f"{files[name]}:{mutant.line}: {mutant.key}\n")
                out.flush()

        failed = judge(group, ROOT, wanted, tell)
    out.writelines(f"fails as things are, so it judges nothing: {nodeid}\n" for nodeid in failed)
    wrong = bool(failed)
    for name, keys in there.items():
        known = {key: found[name, key] for key in keys if (name, key) in found}
        left = [key for key in found if key[0] == name and key[1] in keys and found[key] is None]
        reasons = {key: explained[name].get(key, "") for _, key in left}
        gone = [key for key in explained[name] if key not in reasons]
        without = sum(not why for why in reasons.values())
        out.write(
            f"{name}: {len(known):,} of {len(keys):,} changes tried, {len(reasons):,} survive, {without:,} of them "
            f"without a reason; {len(gone):,} that have one do not survive\n"
        )
        wrong |= bool(without or gone)
        # the survivors alone say nothing of lines that were never tried
        if record and (len(known) == len(keys) or (survivors and old.get(name, Module()).digest == digest_of(keys))):
            old[name] = Module(len(keys), digest_of(keys), reasons)
    if record:
        write_record({**read_record(), **{name: old[name] for name in files if name in old}})
    return 1 if wrong else 0


def _digest() -> str:
    """Of the product and of all tests, for a test may use whatever is below `tests`."""
    found = hashlib.sha256()
    for folder in ("pipelines", "jobs", "schemas", "tests"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            found.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return found.hexdigest()[:16]


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a session of Spark may still be up, and nobody needs what it would say at its end
