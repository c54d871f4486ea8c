package walsafe.cluster;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.master.replication.ReplicationPeerManager;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfig;
import org.apache.hadoop.hbase.replication.ReplicationPeerDescription;
import org.apache.hadoop.hbase.replication.SyncReplicationState;
import org.apache.hadoop.hbase.replication.master.ReplicationLogCleaner;

/** HBase's own ReplicationLogCleaner, asked in the running master about one file at a time. */
public final class Oracle {
  private final Harness harness;

  public Oracle(Harness harness) {
    this.harness = harness;
  }

  ReplicationPeerManager peerManager() {
    return harness.master().getReplicationPeerManager();
  }

  ReplicationLogCleaner cleaner(List<String> live) throws ReflectiveOperationException {
    ReplicationLogCleaner cleaner = new ReplicationLogCleaner();
    cleaner.setConf(harness.conf());
    cleaner.init(Map.of(HMaster.MASTER, harness.master()));
    if (live != null) {
      Set<ServerName> servers = live.stream().map(ServerName::valueOf).collect(Collectors.toSet());
      Supplier<Set<ServerName>> supplier = () -> servers;
      Field field = ReplicationLogCleaner.class.getDeclaredField("getNotFullyDeadServers");
      field.setAccessible(true);
      field.set(cleaner, supplier);
    }
    return cleaner;
  }

  static FileStatus status(String line) {
    String[] parts = line.split("\t", -1);
    long length = parts.length > 1 ? Long.parseLong(parts[1]) : 1;
    long modified = parts.length > 2 ? Long.parseLong(parts[2]) : 0;
    return new FileStatus(length, false, 1, 1L << 27, modified, new Path("/hbase/" + parts[0]));
  }

  /**
   * Verdicts for lines of path, length and modification time, in their order.
   *
   * @param live the servers taken as not fully dead, or null for what the master says
   */
  public List<String> verdicts(List<String> files, List<String> live) throws ReflectiveOperationException {
    ReplicationLogCleaner cleaner = cleaner(live);
    List<String> verdicts = new ArrayList<>(files.size());
    cleaner.preClean();
    try {
      for (String file : files) {
        verdicts.add(verdict(cleaner, status(file)));
      }
    } finally {
      cleaner.postClean();
    }
    return verdicts;
  }

  /** The same between text files, for more names than one call should carry. */
  public void verdicts(String input, String output, List<String> live)
    throws IOException, ReflectiveOperationException {
    Files.write(Paths.get(output), verdicts(Files.readAllLines(Paths.get(input)), live));
  }

  private static String verdict(ReplicationLogCleaner cleaner, FileStatus file) {
    try {
      // The answer is lazy: an exception comes out of the iterator.
      return cleaner.getDeletableFiles(Collections.singletonList(file)).iterator().hasNext() ? "DELETE" : "KEEP";
    } catch (RuntimeException e) {
      return "THROWS " + e.getClass().getSimpleName();
    }
  }

  /** Times getDeletableFiles over all names at once: {files, deletable, preClean ns, decide ns, heap bytes of names}. */
  public List<Long> time(String input, List<String> live) throws IOException, ReflectiveOperationException {
    long before = usedHeap();
    List<FileStatus> files;
    try (Stream<String> lines = Files.lines(Paths.get(input))) {
      files = lines.map(Oracle::status).collect(Collectors.toList());
    }
    long heap = usedHeap() - before;
    ReplicationLogCleaner cleaner = cleaner(live);
    long start = System.nanoTime();
    cleaner.preClean();
    long prepared = System.nanoTime();
    long deletable = 0;
    try {
      for (FileStatus ignored : cleaner.getDeletableFiles(files)) {
        deletable++;
      }
    } finally {
      cleaner.postClean();
    }
    return List.of((long) files.size(), deletable, prepared - start, System.nanoTime() - prepared, heap);
  }

  private static long usedHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  // fabricated state

  /** Creates the queue table without adding a peer. */
  public void createQueueTable() throws ReflectiveOperationException {
    Object initializer = field("queueStorageInitializer").get(peerManager());
    Method initialize = initializer.getClass().getDeclaredMethod("initialize");
    initialize.setAccessible(true);
    initialize.invoke(initializer);
  }

  /**
   * Replaces the peers in the master's memory alone: listReplicationPeers and the cleaner see them, no region server
   * starts a source for them.
   */
  @SuppressWarnings("unchecked")
  public void setPeers(List<String> ids) throws ReflectiveOperationException {
    Map<String, ReplicationPeerDescription> peers =
      (Map<String, ReplicationPeerDescription>) field("peers").get(peerManager());
    peers.clear();
    for (String id : ids) {
      ReplicationPeerConfig config = ReplicationPeerConfig.newBuilder().setClusterKey("127.0.0.1:1:/none").build();
      peers.put(id, new ReplicationPeerDescription(id, true, config, SyncReplicationState.NONE));
    }
  }

  /** Turns the barrier that AddPeer takes on or off. */
  public void setBarrier(boolean taken) {
    if (taken) {
      if (!peerManager().getReplicationLogCleanerBarrier().disable()) {
        throw new IllegalStateException("the cleaner is running");
      }
    } else {
      peerManager().getReplicationLogCleanerBarrier().enable();
    }
  }

  private static Field field(String name) throws ReflectiveOperationException {
    Field field = ReplicationPeerManager.class.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}
