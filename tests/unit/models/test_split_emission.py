"""What a simulated split leaves behind is what the audits read: a good one has no fault, a mutant is caught."""

import io
import json
from contextlib import nullcontext

import pytest

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.audit_config import TimeLimits, audit_config
from pipelines.pegasus.domain.audit_log.facts import SplitFacts, parse_facts
from pipelines.pegasus.domain.audit_log.files import check_files, judged_logs
from pipelines.pegasus.domain.journal import parse_request
from pipelines.pegasus.domain.partitions import REJECTING, primary_answer
from pipelines.pegasus.domain.preflight import preflight, preflight_checks
from pipelines.pegasus.domain.private_log.blocks import LogEnd
from pipelines.pegasus.domain.private_log.log_file import LogFile
from pipelines.pegasus.domain.private_log.names import parse_log_name, parse_replica_name
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.domain.private_log.requests import Replay, decode_request
from pipelines.pegasus.domain.rows import Placement
from pipelines.pegasus.domain.stale import FilterSettings, stale_findings
from pipelines.pegasus.domain.state.reading import parse_state
from pipelines.pegasus.domain.verify.compare import compare_sums
from pipelines.pegasus.simulate.clients import STUCK
from pipelines.pegasus.simulate.emission.files import Emitted, emit, whole_histories
from pipelines.pegasus.simulate.emission.trace import trace_of
from pipelines.pegasus.simulate.scope import Design
from pipelines.pegasus.simulate.walk import walk
from pipelines.pegasus.transforms.log_rows import log_batches
from pipelines.pegasus.transforms.row_tally import ExamineSettings
from tests.labs.pegasus.split_rows import AT_S, Row
from tests.labs.pegasus.split_tallies import tallied
from tests.models.split.batch import DESIGNS, play
from tests.models.split.cases import ALONE, CANCELLED, CONFIG, SEEN_BY, VERIFY, Case, tables
from tests.models.split.emitting import histories_of
from tests.models.split.injections import INJECTIONS, MUTANTS

pytestmark = pytest.mark.long

SEEDS = range(0, 60, 4)


def every_case() -> list[Case]:
    return [case for rows in tables().values() for case in rows]


def emitted_of(case: Case) -> Emitted:
    return emit([case.history])


def grave(emitted: Emitted) -> set[str]:
    """Rules that split-audit-config finds broken, warnings included."""
    series = [parse_state(json.dumps(state), f"state-{number}") for number, state in enumerate(emitted.states)]
    return {row.code for row in audit_config(series, TimeLimits())}


def differing(emitted: Emitted) -> int:
    """Partitions that split-verify compares row by row."""
    before, after = ([Row(*row) for row in rows] for rows in (emitted.before, emitted.after))
    (old, new), at = emitted.counts, AT_S
    found = compare_sums(
        "temp",
        new,
        tallied(before, ExamineSettings(Placement(old, old), new, at)),
        tallied(after, ExamineSettings(Placement(new, old), new, at)),
    )
    return len(found.differing)


def stale_codes(emitted: Emitted) -> set[tuple[str, str]]:
    old, new = emitted.counts
    settings = FilterSettings(Placement(new, old), emitted.validates, 0, emitted.versions)
    rows = tallied([Row(*row) for row in emitted.after], ExamineSettings(settings.placement, settings.groups, AT_S))
    found = stale_findings("temp", rows, settings)
    return {(row.code, row.severity) for row in found if row.severity != "info"}


def test_no_row_and_no_mutant_is_left_out() -> None:
    rows = tables()
    assert {case.name for name in ("good", "cancelled") for case in rows[name]} >= {one.row for one in INJECTIONS}
    assert {case.name for case in every_case() if case.design == "mutant"} == set(MUTANTS) == set(SEEN_BY)
    assert {case.name for case in rows["cancelled"]} == set(CANCELLED)
    assert all(len(tables()[name]) == 1 for name in ALONE)
    assert all(len(found) & (len(found) - 1) == 0 for found in rows.values())
    assert all(SEEN_BY.values()), "each must be seen by some audit"


def test_nothing_is_raised_of_any_good_split() -> None:
    for case in every_case():
        if not case.seen_by:
            emitted = emitted_of(case)
            assert grave(emitted) == set(), case.name
            assert differing(emitted) == 0, case.name
            assert stale_codes(emitted) == set(), case.name


def test_states_and_rows_show_what_they_must() -> None:
    for case in every_case():
        emitted = emitted_of(case)
        assert CONFIG not in case.seen_by or grave(emitted), case.name
        assert VERIFY not in case.seen_by or differing(emitted), case.name
    (lost,) = tables()["env-lost"]
    assert ("SPLIT_C9", "error") in stale_codes(emitted_of(lost))


def test_random_splits_leave_whole_tables_and_states_without_a_fault() -> None:
    for seed in SEEDS:
        emitted = emit(whole_histories(4, seed, Design()))
        assert (grave(emitted), differing(emitted), stale_codes(emitted)) == (set(), 0, set()), seed


def test_a_disk_without_room_is_what_the_preflight_blocks() -> None:
    (case,) = [case for case in tables()["good"] if case.name == "F37"]
    verdicts = set()
    for number, text in enumerate(emitted_of(case).states):
        state = parse_state(json.dumps(text), f"state-{number}")
        found = list(preflight(state, state.tables[0], None))
        verdicts |= {one.verdict for one in preflight_checks(state.tables[0], found) if one.rule == "F37"}
    assert verdicts == {"BLOCKER", "UNKNOWN"}


def files_of(emitted: Emitted, facts: SplitFacts) -> list[str]:
    """`partition reason` of each log, as split-audit-log decides."""
    rows = []
    for path, data in emitted.logs.items():
        *node, replica, _, log = path.split("/")
        gpid = parse_replica_name(replica)
        task = {"uri": path, "node": "/".join(node), "app_id": gpid.app_id, "partition": gpid.partition, "log": log}
        (*_, last) = log_batches(task, lambda uri: nullcontext(io.BytesIO(emitted.logs[uri]).read))
        rows.append(last.to_pylist()[-1]["file"])
        assert len(data) == rows[-1]["length"]
    found = [LogFile(**row) for row in rows]
    assert list(check_files(found)) == []
    return sorted({f"{one.partition} {one.reason}" for one in judged_logs(found, facts)})


def test_which_logs_may_go_by_registration_and_duplication() -> None:
    history = whole_histories(1, 3, Design())

    def reasons(confirmed: int | None) -> list[str]:
        emitted = emit(history, confirmed)
        return files_of(emitted, parse_facts(json.dumps(emitted.facts), "facts.json"))

    assert reasons(None) == ["0 NEWEST_LOG", "0 NOT_NEEDED", "1 NEWEST_LOG"]
    assert reasons(45) == ["0 NEWEST_LOG", "0 NOT_NEEDED", "1 NEWEST_LOG"], "decrees 41 to 45 are confirmed"
    assert reasons(44) == ["0 DUPLICATION_PENDING", "0 NEWEST_LOG", "1 NEWEST_LOG"]
    emitted = emit([case.history for case in tables()["cancelled"]])
    facts = parse_facts(json.dumps(emitted.facts), "facts.json")
    assert {line.split()[1] for line in files_of(emitted, facts)} == {"NEWEST_LOG", "CHILD_NOT_REGISTERED"}


def test_logs_are_read_by_the_decoder_and_hold_every_acknowledged_write() -> None:
    emitted = emit(whole_histories(4, 3, Design()))
    logged = set()
    for path, data in emitted.logs.items():
        *_, replica, plog, log = path.split("/")
        reader = PrivateLogReader(io.BytesIO(data).read, parse_log_name(log).start_offset)
        mutations = list(reader)
        assert (plog, reader.ending, reader.problem) == ("plog", LogEnd.WHOLE, None)
        gpid = parse_replica_name(replica)
        assert {one.gpid for one in mutations} == {gpid}
        for one in mutations:
            for request in map(decode_request, one.updates):
                assert request.replay in {Replay.ROWS, Replay.EMPTY}
                logged |= {(gpid.partition, one.decree) for _ in request.rows}
    acks = {(one["pidx"], one["decree"]) for one in emitted.journal if one["kind"] == "write"}
    assert acks
    assert acks <= logged


def test_no_log_of_a_good_split_goes_back_to_a_lower_ballot() -> None:
    for seed in (14, 17, 259):  # a child learns after a new ballot, before the dropped writes are sent again
        for history in whole_histories(4, seed, Design()):
            trace = trace_of(history)
            for log in (*trace.parents.values(), *trace.children.values()):
                last = {one.decree: one.ballot for one in log}
                ballots = [last[decree] for decree in sorted(last)]
                assert ballots == sorted(ballots), seed


def test_the_journal_is_one_and_answers_as_the_seed_says() -> None:
    emitted = emit(whole_histories(4, 3, Design()))
    asked = [parse_request(json.dumps(line), number, "journal") for number, line in enumerate(emitted.journal, 1)]
    codes = {one.code for one in asked}
    assert codes == {"ERR_OK", "ERR_OBJECT_NOT_FOUND", "ERR_PARENT_PARTITION_MISUSED"}
    assert [one.at_us for one in asked] == sorted(one.at_us for one in asked)
    for one in asked:
        assert one.version is not None
        said = primary_answer(one.hash, one.partition, one.version).value
        assert one.code == said or (one.version == REJECTING and said == "REJECT")


def test_a_table_of_rows_and_of_a_mutant() -> None:
    first, second = histories_of(2, 0, "shipped", ["F29", "F2"])
    assert (first.broken, second.broken) == ("DOUBLE_OWNER", None)
    assert [history.broken is not None for history in histories_of(4, 0, "same-ballot", [])] == [True] * 4
    mutant, *others = histories_of(4, 0, "no-preflight", [])
    assert mutant.broken == "STUCK"
    assert len(others) == 3
    cancelled = histories_of(2, 0, "mended", ["F32", "F21"])
    assert not any(history.worlds[-1].meta.doubled for history in cancelled)
    assert grave(emit(cancelled)) == set()
    for rows, words in (
        (["F1", "F2", "F3"], "3 rows need --groups 4"),
        (["F99"], "no row 'F99'"),
        (["F2", "F32"], "F32 are cancelled"),
    ):
        with pytest.raises(UsageError, match=words):
            histories_of(2, 0, "mended", rows)


def test_a_seed_is_the_same_history_again() -> None:
    one, two = walk(11, MUTANTS["no-reject"]), walk(11, MUTANTS["no-reject"])
    assert one == two
    assert one.moves


def test_a_range_of_seeds_settles_and_mutants_do_not_survive_it() -> None:
    found = play("0", "mended")
    assert (found.broken, found.settled) == (None, 500)
    broken = [play("0", name).broken for name in ("shipped", "no-reject", "same-ballot", "ballot-leaps")]
    assert None not in broken
    assert play("0", "restart-alone").broken == STUCK, "no step is left, and the split has not ended"
    assert set(MUTANTS) < set(DESIGNS)
