"""The identity of requests to WebHDFS: a name, or the Kerberos ticket of Spark's driver (SPNEGO)."""

from getpass import getuser
from urllib.parse import parse_qs, urlsplit

from requests import PreparedRequest, Session
from requests.auth import AuthBase

from pipelines.files.hadoop_jvm import HadoopJvm, java_errors

JAVA_CLASS = "walsafe.Spnego"
JAVA_SOURCE = r"""
package walsafe;

import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.Base64;
import org.apache.hadoop.security.UserGroupInformation;
import org.ietf.jgss.GSSContext;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.GSSName;
import org.ietf.jgss.Oid;

public class Spnego {
    /** The token for the service HTTP of a host, as the user as whom Hadoop's client is logged in. */
    public String token(String host) throws Exception {
        UserGroupInformation user = UserGroupInformation.getLoginUser();
        user.checkTGTAndReloginFromKeytab();
        try {
            return token(user, host);
        } catch (Exception refused) {
            try {
                user.reloginFromTicketCache(); // somebody may have run kinit; Hadoop looks at most once a minute
            } catch (IOException none) {
                throw refused;
            }
            return token(user, host);
        }
    }

    private static String token(UserGroupInformation user, final String host) throws Exception {
        return (String) user.doAs(new PrivilegedExceptionAction() {
            public Object run() throws Exception {
                GSSManager manager = GSSManager.getInstance();
                GSSName service = manager.createName("HTTP@" + host, GSSName.NT_HOSTBASED_SERVICE);
                GSSContext context =
                    manager.createContext(service, new Oid("1.3.6.1.5.5.2"), null, GSSContext.DEFAULT_LIFETIME);
                try {
                    return Base64.getEncoder().encodeToString(context.initSecContext(new byte[0], 0, 0));
                } finally {
                    context.dispose();
                }
            }
        });
    }
}
"""


class _Spnego(AuthBase):
    """Sends a new token with each request; a name node accepts each of them once."""

    def __init__(self, hadoop: HadoopJvm) -> None:
        self._hadoop = hadoop
        self._java = hadoop.compiled(JAVA_CLASS, JAVA_SOURCE)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        url = urlsplit(request.url or "")
        if "delegation" not in parse_qs(str(url.query)):  # a data node knows the name node's own token
            host = str(url.hostname)
            with java_errors(f"WebHDFS of {host}"):
                request.headers["Authorization"] = f"Negotiate {self._java.token(host)}"
        return request


def webhdfs_session(user: str | None, kerberos: HadoopJvm | None) -> Session:
    """Returns a session whose requests carry an identity.

    Args:
        user: the value of `user.name`; None = the user of this process.
        kerberos: the JVM whose Hadoop client is logged in with Kerberos; None = the name alone.

    Raises:
        UsageError: (when a request is sent) there is no valid Kerberos ticket.
    """
    session = Session()
    if kerberos is None:
        session.params = {"user.name": user or getuser()}
    else:
        session.auth = _Spnego(kerberos)
    return session
