"""The Java half of the Kerberos client of ZooKeeper: many reads in one call, and a login of its own."""

JAVA_CLASS = "walsafe.SaslZooKeeper"
JAVA_SOURCE = r"""
package walsafe;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import javax.security.auth.login.LoginException;
import javax.security.sasl.SaslException;
import org.apache.zookeeper.AsyncCallback;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.Stat;

public class SaslZooKeeper {
    static final String SECTION = "walsafe";
    static final int LARGEST_ANSWER = 64 << 20;  // by default 1 MiB: the names of about 12,000 WALs

    public Session open(String quorum, int timeoutMs, String principal, String keytab) throws Exception {
        Logins logins = new Logins(Logins.others(), principal, keytab);
        Configuration.setConfiguration(logins);
        // ZooKeeper's client goes on without a ticket if there is none, and does not say why
        LoginContext login = new LoginContext(SECTION, null, null, logins);
        try {
            login.login();
        } catch (LoginException problem) {
            throw new LoginException(problem.getMessage());  // its causes say less
        }
        login.logout();
        Session session = new Session(quorum, timeoutMs);
        try {
            session.await();
            return session;
        } catch (Exception problem) {
            session.close();
            throw problem;
        }
    }

    public static ZKClientConfig config(int timeoutMs) {
        ZKClientConfig config = new ZKClientConfig();
        config.setProperty("zookeeper.sasl.client", "true");
        config.setProperty("zookeeper.sasl.clientconfig", SECTION);
        config.setProperty("zookeeper.request.timeout", Integer.toString(timeoutMs));
        int largest = Math.max(LARGEST_ANSWER, config.getInt("jute.maxbuffer", 0));
        config.setProperty("jute.maxbuffer", Integer.toString(largest));
        return config;
    }

    /** The section of this client, in addition to all others of the JVM. */
    public static class Logins extends Configuration {
        private static Configuration before;
        private final Configuration others;
        private final Map options = new HashMap();

        static synchronized Configuration others() {
            if (before == null) {
                try {
                    before = Configuration.getConfiguration();
                } catch (SecurityException none) {
                    return null;
                }
            }
            return before;
        }

        Logins(Configuration others, String principal, String keytab) {
            this.others = others;
            options.put("doNotPrompt", "true");
            options.put("refreshKrb5Config", "true");
            if (keytab == null) {
                options.put("useTicketCache", "true");
            } else {
                options.put("useKeyTab", "true");
                options.put("storeKey", "true");
                options.put("keyTab", keytab);
            }
            if (principal != null) {
                options.put("principal", principal);
            }
        }

        public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
            if (!SECTION.equals(name)) {
                return others == null ? null : others.getAppConfigurationEntry(name);
            }
            return new AppConfigurationEntry[] {new AppConfigurationEntry(
                "com.sun.security.auth.module.Krb5LoginModule",
                AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, options)};
        }
    }

    public static class Session implements Watcher {
        private final int timeoutMs;
        private final ZooKeeper keeper;
        private final CountDownLatch known = new CountDownLatch(1);
        private volatile boolean refused;

        Session(String quorum, int timeoutMs) throws Exception {
            this.timeoutMs = timeoutMs;
            keeper = new ZooKeeper(quorum, timeoutMs, this, config(timeoutMs));
        }

        public void process(WatchedEvent event) {
            if (event.getState() == Watcher.Event.KeeperState.AuthFailed) {
                refused = true;
                known.countDown();
            } else if (event.getState() == Watcher.Event.KeeperState.SaslAuthenticated) {
                known.countDown();
            }
        }

        void await() throws Exception {
            if (!known.await((long) timeoutMs, TimeUnit.MILLISECONDS)) {
                throw new KeeperException.OperationTimeoutException();
            }
            if (refused) {
                throw new SaslException("refused");
            }
        }

        public boolean exists(String path) throws Exception {
            return keeper.exists(path, false) != null;
        }

        /** The cversion, and the names, with slashes between; null = there is no such znode. */
        public String children(String path) throws Exception {
            Stat stat = new Stat();
            try {
                StringBuilder text = new StringBuilder();
                Object[] names = keeper.getChildren(path, false, stat).toArray();
                text.append(stat.getCversion());
                for (int i = 0; i < names.length; i++) {
                    text.append('/').append(names[i]);
                }
                return text.toString();
            } catch (KeeperException.NoNodeException none) {
                return null;
            }
        }

        public void sync(String path) throws Exception {
            Waiting waiting = new Waiting(1);
            keeper.sync(path, waiting, Integer.valueOf(0));
            waiting.await(timeoutMs);
            if (waiting.codes[0] != 0 && waiting.codes[0] != KeeperException.Code.NONODE.intValue()) {
                throw KeeperException.create(KeeperException.Code.get(waiting.codes[0]), path);
            }
        }

        /** For each path the code, the length and the data. */
        public byte[] data(String paths) throws Exception {
            String[] each = paths.split("\0");
            Waiting waiting = new Waiting(each.length);
            for (int i = 0; i < each.length; i++) {
                keeper.getData(each[i], false, waiting, Integer.valueOf(i));
            }
            waiting.await(timeoutMs);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            for (int i = 0; i < each.length; i++) {
                byte[] found = waiting.found[i] == null ? new byte[0] : waiting.found[i];
                out.writeInt(waiting.codes[i]);
                out.writeInt(found.length);
                out.write(found, 0, found.length);
            }
            return bytes.toByteArray();
        }

        public void close() throws Exception {
            keeper.close(1000);
        }
    }

    /** Collects answers that come later. */
    private static class Waiting implements AsyncCallback.DataCallback, AsyncCallback.VoidCallback {
        final int[] codes;
        final byte[][] found;
        private final CountDownLatch open;

        Waiting(int count) {
            codes = new int[count];
            found = new byte[count][];
            open = new CountDownLatch(count);
        }

        public void processResult(int code, String path, Object index, byte[] data, Stat stat) {
            int i = ((Integer) index).intValue();
            codes[i] = code;
            found[i] = data;
            open.countDown();
        }

        public void processResult(int code, String path, Object index) {
            codes[((Integer) index).intValue()] = code;
            open.countDown();
        }

        void await(int timeoutMs) throws Exception {
            if (!open.await((long) timeoutMs, TimeUnit.MILLISECONDS)) {
                throw new KeeperException.OperationTimeoutException();
            }
        }
    }
}
"""
