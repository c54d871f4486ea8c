package walsafe.cluster;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.master.procedure.MasterProcedureEnv;
import org.apache.hadoop.hbase.master.replication.ReplicationPeerManager;
import org.apache.hadoop.hbase.procedure2.Procedure;
import org.apache.hadoop.hbase.procedure2.ProcedureStateSerializer;
import org.apache.hadoop.hbase.replication.ReplicationException;
import org.apache.hadoop.hbase.replication.ReplicationQueueStorage;

/**
 * Keeps the crash procedure of a server unfinished until released: before its first step (the server's lock is taken),
 * before it adds the missing queues, or before it has its queues claimed (the storage refuses to list them; the
 * procedure tries again and again).
 */
final class CrashHold {
  static final String BEFORE_START = "start";
  static final String BEFORE_MISSING_QUEUES = "missing-queues";
  static final String BEFORE_CLAIM = "claim";

  private static final AtomicLong IDS = new AtomicLong(Long.MAX_VALUE / 2);
  private final Map<ServerName, Integer> allowedListings = new ConcurrentHashMap<>();
  private final Map<ServerName, AtomicInteger> listings = new ConcurrentHashMap<>();
  private final Map<ServerName, LockOwner> locks = new ConcurrentHashMap<>();

  void hold(HMaster master, ServerName server, String stage) throws ReflectiveOperationException {
    switch (stage) {
      case BEFORE_START:
        LockOwner owner = new LockOwner(IDS.incrementAndGet());
        if (scheduler(master).waitServerExclusiveLock(owner, server)) {
          throw new IllegalStateException("the lock of " + server + " is taken");
        }
        locks.put(server, owner);
        return;
      case BEFORE_MISSING_QUEUES:
        intercept(master, server, 0);
        return;
      case BEFORE_CLAIM:
        intercept(master, server, 1);
        return;
      default:
        throw new IllegalArgumentException("unknown stage " + stage);
    }
  }

  void release(HMaster master, ServerName server) {
    allowedListings.remove(server);
    LockOwner owner = locks.remove(server);
    if (owner != null) {
      scheduler(master).wakeServerExclusiveLock(owner, server);
      // no procedure waits for the lock itself, so nobody else wakes the idle workers (they poll once a minute)
      scheduler(master).signalAll();
    }
  }

  /** Whether the procedure has met the refusing storage. */
  boolean metStorage(ServerName server) {
    AtomicInteger seen = listings.get(server);
    return seen != null && seen.get() > allowedListings.getOrDefault(server, 0);
  }

  private static org.apache.hadoop.hbase.master.procedure.MasterProcedureScheduler scheduler(HMaster master) {
    return master.getMasterProcedureExecutor().getEnvironment().getProcedureScheduler();
  }

  private void intercept(HMaster master, ServerName server, int allowed) throws ReflectiveOperationException {
    listings.put(server, new AtomicInteger());
    allowedListings.put(server, allowed);
    Field field = ReplicationPeerManager.class.getDeclaredField("queueStorage");
    field.setAccessible(true);
    Object real = field.get(master.getReplicationPeerManager());
    if (Proxy.isProxyClass(real.getClass())) {
      return;
    }
    Object proxy = Proxy.newProxyInstance(CrashHold.class.getClassLoader(),
      new Class<?>[] { ReplicationQueueStorage.class }, (self, method, arguments) -> {
        if (method.getName().equals("listAllQueueIds") && arguments.length == 1
          && arguments[0] instanceof ServerName) {
          refuseIfHeld((ServerName) arguments[0]);
        }
        try {
          return method.invoke(real, arguments);
        } catch (InvocationTargetException e) {
          throw e.getCause();
        }
      });
    field.set(master.getReplicationPeerManager(), proxy);
  }

  private void refuseIfHeld(ServerName server) throws ReplicationException {
    Integer allowed = allowedListings.get(server);
    if (allowed != null && listings.get(server).incrementAndGet() > allowed) {
      throw new ReplicationException("held by the test: queues of " + server);
    }
  }

  /** Owns a lock and is never run. */
  private static final class LockOwner extends Procedure<MasterProcedureEnv> {
    private LockOwner(long id) {
      setProcId(id);
    }

    @Override
    protected Procedure<MasterProcedureEnv>[] execute(MasterProcedureEnv environment) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void rollback(MasterProcedureEnv environment) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected boolean abort(MasterProcedureEnv environment) {
      return false;
    }

    @Override
    protected void serializeStateData(ProcedureStateSerializer serializer) {
      // never stored
    }

    @Override
    protected void deserializeStateData(ProcedureStateSerializer serializer) {
      // never stored
    }
  }
}
