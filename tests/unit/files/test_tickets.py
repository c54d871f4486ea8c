"""What Java says about Kerberos: no ticket is a mistake of the caller, a KDC that does not answer is not."""

import pytest

from pipelines.files.hadoop_jvm import lacks_kdc, lacks_ticket

_OF_GSS = "javax.security.sasl.SaslException: GSS initiate failed [Caused by GSSException: No valid credentials"


@pytest.mark.parametrize(
    "cause",
    [
        "org.apache.hadoop.security.AccessControlException: Client cannot authenticate via:[TOKEN, KERBEROS]",
        f"{_OF_GSS} (Mechanism level: Failed to find any Kerberos tgt)]",
        "org.apache.hadoop.security.KerberosAuthException: failure to login: Checksum failed",
        "java.lang.RuntimeException: Found no valid authentication method from options",
        "org.apache.hadoop.ipc.RemoteException(javax.security.sasl.SaslException): GSS initiate failed",
    ],
)
def test_no_ticket(cause: str) -> None:
    assert lacks_ticket(cause)


@pytest.mark.parametrize(
    "cause",
    [
        f"{_OF_GSS} (Mechanism level: Cannot contact any KDC for realm 'EXAMPLE.ORG')]",
        f"{_OF_GSS} (Mechanism level: Connection refused)]",
        "javax.security.auth.login.LoginException: Receive timed out",
    ],
)
def test_a_kdc_that_does_not_answer_is_tried_again(cause: str) -> None:
    assert lacks_kdc(cause)
    assert not lacks_ticket(cause)


def test_another_error_is_none_of_these() -> None:
    assert not lacks_ticket("java.net.ConnectException: Connection refused")
