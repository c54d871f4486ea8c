"""Server names and numbers at the edges of what HBase takes; its answers on others are in the golden file."""

import pytest

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName, parse_java_long, server_of_directory


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("+5", 5),
        ("-0", 0),
        ("0" * 5_000 + "7", 7),
    ],
)
def test_a_number_of_64_bits_is_read_as_java_does(text: str, value: int) -> None:
    assert parse_java_long(text) == value


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize(
    "text", ["9223372036854775808", "-9223372036854775809", "1" * 20, "1" * 5_000, "-" + "9" * 5_000]
)
def test_a_longer_number_is_none_however_long_it_is(text: str) -> None:
    with pytest.raises(MalformedError, match="not a 64-bit number"):
        parse_java_long(text)


@pytest.mark.parametrize("text", ["", "+", "-", "--1", "1_000", " 1", "0x1", "1.0"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(MalformedError, match="not a number"):
        parse_java_long(text)


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize("port", [0, 1, 65_535])
def test_a_port_is_read(port: int) -> None:
    assert ServerName.parse(f"h,{port},5") == ServerName("h", port, 5)


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(MalformedError, match=f"port out of range: {port} in"):
        ServerName.parse(f"h,{port},5")


@pytest.mark.parametrize("text", ["", "h", "h,1", ","])
def test_without_two_commas_it_is_no_server_name(text: str) -> None:
    with pytest.raises(MalformedError, match="not a server name"):
        ServerName.parse(text)


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize("host", ["", "[abc", "abc]", "a[bc", "ab]c", "[[a]]", "h:1", "[h:1]", "a/b", "hé", "h\t"])
def test_what_is_no_host(host: str) -> None:
    with pytest.raises(MalformedError, match="not a host name"):
        ServerName.parse(f"{host},1,2")


@pytest.mark.parametrize(("host", "read"), [("A.B", "a.b"), ("[2001:DB8::1]", "2001:db8::1"), ("a:b:c", "a:b:c")])
def test_a_host_is_in_lower_case_and_without_brackets(host: str, read: str) -> None:
    name = ServerName.parse(f"{host},1,2")
    assert (name.host, name.address, str(name)) == (read, f"{read}:1", f"{read},1,2")


@pytest.mark.parametrize("name", ["h,1,2", "h,1,2-splitting"])
def test_a_live_directory_is_named_after_its_server(name: str) -> None:
    assert server_of_directory(name) == ServerName("h", 1, 2)


@pytest.mark.parametrize("name", ["", "h,1", "h,1,2-other", "h,1,2-splitting-splitting"])
def test_a_live_directory_of_no_server(name: str) -> None:
    assert server_of_directory(name) is None
