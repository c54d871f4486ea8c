package walsafe.cluster;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import org.apache.hadoop.hbase.regionserver.HRegionServer;
import org.apache.hbase.thirdparty.com.google.protobuf.ServiceException;

/**
 * Lets the threads of a server end that was killed inside this JVM. `HRegionServer.reportProcedureDone` asks for the
 * master's stub again and again without a pause, and a stopped server gives none: it would take a core forever.
 */
final class StoppedServers {
  private static final int SECONDS = 60;

  private StoppedServers() {
  }

  /** Gives a server, once it has stopped, a stub that answers every call with an exception. */
  static void letEnd(HRegionServer server) {
    Thread thread = new Thread(() -> {
      try {
        Field stub = HRegionServer.class.getDeclaredField("rssStub");
        stub.setAccessible(true);
        Object refusing = Proxy.newProxyInstance(StoppedServers.class.getClassLoader(), new Class<?>[] { stub.getType() },
          (self, method, arguments) -> {
            throw new ServiceException("the server was stopped by the test");
          });
        for (int second = 0; second < SECONDS; second++) {
          if (server.isStopped() && stub.get(server) == null) {
            stub.set(server, refusing);
          }
          Thread.sleep(1000);
        }
      } catch (ReflectiveOperationException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }, "ends " + server.getServerName());
    thread.setDaemon(true);
    thread.start();
  }
}
