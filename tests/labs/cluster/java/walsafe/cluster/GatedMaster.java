package walsafe.cluster;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.master.HMaster;

/**
 * A master whose initialization can be held at a chosen point, so that a client can look at a master that is loading.
 */
public final class GatedMaster extends HMaster {
  /** The procedure executor exists, its store is not loaded: the master knows of no procedure. */
  public static final String BEFORE_PROCEDURES = "procedures";
  /** Everything is loaded, only the word "initialized" is missing. */
  public static final String BEFORE_INITIALIZED = "initialized";

  private static final class Gate {
    private final String stage;
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch open = new CountDownLatch(1);

    private Gate(String stage) {
      this.stage = stage;
    }
  }

  private static volatile Gate gate;

  public GatedMaster(Configuration conf) throws IOException {
    super(conf);
  }

  /** Every master that reaches the stage from now on waits there. */
  public static void close(String stage) {
    gate = new Gate(stage);
  }

  public static boolean awaitReached(long milliseconds) throws InterruptedException {
    return gate.reached.await(milliseconds, TimeUnit.MILLISECONDS);
  }

  public static void open() {
    Gate held = gate;
    gate = null;
    if (held != null) {
      held.open.countDown();
    }
  }

  private static void pass(String stage) {
    Gate current = gate;
    if (current == null || !current.stage.equals(stage)) {
      return;
    }
    current.reached.countDown();
    try {
      current.open.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public Configuration getConfiguration() {
    // The executor and the load of its store are in one private method. The store asks for the configuration once
    // between the two, when it recovers its lease: the only place from which the state in between can be held.
    if (gate != null && StackWalker.getInstance().walk(frames -> frames.limit(3)
      .anyMatch(frame -> frame.getMethodName().equals("recoverLease")))) {
      pass(BEFORE_PROCEDURES);
    }
    return super.getConfiguration();
  }

  @Override
  protected void initClusterSchemaService() throws IOException, InterruptedException {
    super.initClusterSchemaService();
    pass(BEFORE_INITIALIZED);
  }
}
