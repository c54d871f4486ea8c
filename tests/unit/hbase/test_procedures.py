"""The master's procedures: what is unfinished counts, and what could hide it is no answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.errors import MalformedError
from pipelines.hbase.procedures import ADD_PEER, MIGRATION, crashing_servers, is_running, parse_procedures
from tests.labs.listed_files import H1


class TestProcedures:
    @staticmethod
    def crash(kind: str = "ServerCrashProcedure", state: str = "RUNNABLE") -> dict[str, object]:
        server = {"hostName": "H1", "port": 16020, "startCode": "5"}
        name = f"org.apache.hadoop.hbase.master.procedure.{kind}"
        return {"className": name, "state": state, "stateMessage": [{}, {"serverName": server, "carryingMeta": False}]}

    @pytest.mark.promise("unfinished-crash-counts")
    @pytest.mark.parametrize("kind", ["ServerCrashProcedure", "HBCKServerCrashProcedure"])
    @pytest.mark.parametrize("state", ["INITIALIZING", "RUNNABLE", "WAITING_TIMEOUT", "ROLLEDBACK", "FAILED"])
    def test_every_state_but_success_is_unfinished(self, kind: str, state: str) -> None:
        text = json.dumps([self.crash(kind, state), self.crash(state="SUCCESS")])
        assert crashing_servers(parse_procedures(text)) == {H1}

    def test_a_finished_crash_is_over(self) -> None:
        assert crashing_servers(parse_procedures(json.dumps([self.crash(state="SUCCESS")]))) == frozenset()

    @pytest.mark.parametrize(
        ("state", "running"), [("RUNNABLE", True), ("FAILED", True), ("SUCCESS", False), ("ROLLEDBACK", False)]
    )
    def test_add_peer(self, state: str, running: bool) -> None:
        text = json.dumps([{"className": f"a.b.{ADD_PEER}", "state": state}])
        assert is_running(parse_procedures(text), ADD_PEER) is running

    UNREADABLE = (
        "org.apache.hbase.thirdparty.com.google.protobuf.InvalidProtocolBufferException: "
        "Cannot find type for url: type.googleapis.com/hbase.pb."
    )

    def test_what_only_hbase_3_has_does_not_hide_the_crash_it_belongs_to(self) -> None:
        text = json.dumps([self.crash(state="WAITING"), f"{self.UNREADABLE}AssignReplicationQueuesStateData"])
        procedures = parse_procedures(text)
        assert crashing_servers(procedures) == {H1}
        assert not is_running(procedures, ADD_PEER)
        assert not is_running(procedures, MIGRATION)

    def test_a_migration_that_cannot_be_read_counts_as_running(self) -> None:
        text = json.dumps([f"{self.UNREADABLE}MigrateReplicationQueueFromZkToTableStateData"])
        assert is_running(parse_procedures(text), MIGRATION)

    @pytest.mark.parametrize("state", ["ServerCrashStateData", "AddPeerStateData", "SomethingOfTomorrow", ""])
    def test_any_other_unreadable_procedure_is_no_answer(self, state: str) -> None:
        with pytest.raises(MalformedError, match="cannot read"):
            parse_procedures(json.dumps([f"{self.UNREADABLE}{state}"]))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{}",
            "[1]",
            "[{}]",
            '[{"className": "a.ServerCrashProcedure", "state": 5}]',
            '[{"className": "a.ServerCrashProcedure", "state": "RUNNABLE"}]',
            '[{"className": "a.ServerCrashProcedure", "state": "RUNNABLE", "stateMessage": [{"serverName": "h"}]}]',
            '[{"className": "a.ServerCrashProcedure", "state": "RUNNABLE", "stateMessage": [{"serverName": {}}]}]',
        ],
    )
    def test_what_could_hide_a_crash_is_no_answer(self, text: str) -> None:
        with pytest.raises(MalformedError):
            crashing_servers(parse_procedures(text))

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda x: (
                st.lists(x)
                | st.dictionaries(
                    st.sampled_from(["className", "state", "stateMessage", "serverName", "hostName", "port"]), x
                )
            ),
        )
    )
    def test_anything_else_is_our_error(self, document: object) -> None:  # fmt: skip
        try:
            found = crashing_servers(parse_procedures(json.dumps(document)))
        except MalformedError:
            return
        assert isinstance(document, list)
        assert isinstance(found, frozenset)
