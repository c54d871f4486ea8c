package walsafe.cluster;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.master.replication.OfflineTableReplicationQueueStorage;
import org.apache.hadoop.hbase.replication.ReplicationQueueData;
import org.apache.hadoop.hbase.replication.ReplicationQueueStorage;
import org.apache.hadoop.hbase.replication.regionserver.ReplicationSyncUp;
import org.apache.hadoop.util.ToolRunner;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/** HBase's own ReplicationSyncUp, and what it says of the WALs that it takes up. */
public final class SyncUp {
  private static final String PACKAGE = "org.apache.hadoop.hbase.replication.regionserver.";

  /** The two sentences that name each WAL: one when it enters a queue, one when it is opened, with its position. */
  private static final class Ear extends AppenderSkeleton {
    private final List<String> heard = Collections.synchronizedList(new ArrayList<>());

    @Override
    protected void append(LoggingEvent event) {
      String message = event.getRenderedMessage();
      if (message.startsWith("Enqueueing log ") || message.startsWith("Creating new reader ")) {
        heard.add(message);
      }
    }

    @Override
    public void close() {
      // nothing is open
    }

    @Override
    public boolean requiresLayout() {
      return false;
    }
  }

  private SyncUp() {
  }

  /** The queues as the tool reads them from store files: row, WAL group and offset. */
  public static List<String> queues(Harness harness) throws Exception {
    List<String> lines = new ArrayList<>();
    for (ReplicationQueueData queue : new OfflineTableReplicationQueueStorage(harness.conf(), Harness.QUEUES)
      .listAllQueues()) {
      queue.getOffsets().forEach((group, offset) -> lines.add(queue.getId() + "\t" + group + "\t" + offset));
    }
    Collections.sort(lines);
    return lines;
  }

  /** What the tool reads of HFiles (`peer TAB name`) and of last pushed sequence ids (`peer TAB region TAB id`). */
  public static List<String> beside(Harness harness, List<String> peers, List<String> regions) throws Exception {
    ReplicationQueueStorage storage = new OfflineTableReplicationQueueStorage(harness.conf(), Harness.QUEUES);
    List<String> lines = new ArrayList<>();
    for (String peer : storage.getAllPeersFromHFileRefsQueue()) {
      for (String file : storage.getReplicableHFiles(peer)) {
        lines.add(peer + "\t" + file);
      }
    }
    for (String peer : peers) {
      for (String region : regions) {
        long id = storage.getLastSequenceId(region, peer);
        if (id != HConstants.NO_SEQNUM) {
          lines.add(peer + "\t" + region + "\t" + id);
        }
      }
    }
    Collections.sort(lines);
    return lines;
  }

  public static List<String> run(Harness harness, List<String> arguments) throws Exception {
    Ear ear = new Ear();
    List<Logger> loggers = new ArrayList<>();
    for (String name : new String[] { "ReplicationSourceManager", "WALEntryStream" }) {
      Logger logger = Logger.getLogger(PACKAGE + name);
      logger.setLevel(Level.DEBUG);
      logger.addAppender(ear);
      loggers.add(logger);
    }
    try {
      int code = ToolRunner.run(new Configuration(harness.conf()), new ReplicationSyncUp(),
        arguments.toArray(new String[0]));
      if (code != 0) {
        throw new IllegalStateException("ReplicationSyncUp ended with " + code);
      }
    } finally {
      for (Logger logger : loggers) {
        logger.removeAppender(ear);
        logger.setLevel(null);
      }
    }
    return new ArrayList<>(ear.heard);
  }
}
