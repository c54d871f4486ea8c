package walsafe.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.replication.master.ReplicationLogCleaner;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Many fabricated states a second before the real cleaner: one call writes a state into hbase:replication and asks about
 * all of its files. Nobody else may write that table meanwhile.
 */
public final class Judge {
  private static final String DELETE = "DELETE";
  private static final String KEEP = "KEEP";
  private static final String THROWS = "THROWS";
  private static final String BLOCKED = "BLOCKED";

  private final Harness harness;
  private final Oracle oracle;
  private final Map<String, byte[]> written = new LinkedHashMap<>();
  private long clock;

  public Judge(Harness harness, Oracle oracle) throws IOException {
    this.harness = harness;
    this.oracle = oracle;
    try (Table table = queues(); ResultScanner scanner = table.getScanner(new Scan())) {
      for (Result result : scanner) {
        remember(result.getRow());
      }
    }
  }

  /**
   * Answers for a state, one a line: DELETE, KEEP or THROWS for each file, or BLOCKED alone where the cleaner dies over
   * the queue table, as it then deletes nothing.
   *
   * @param question lines of a word and base64 texts, by tabs: `peer` id, `live` server name, `barrier`, `cell` row family
   *          qualifier value, `name` file name
   */
  public String answers(String question) throws IOException, ReflectiveOperationException {
    List<String> peers = new ArrayList<>();
    List<String> live = new ArrayList<>();
    List<byte[][]> cells = new ArrayList<>();
    List<FileStatus> files = new ArrayList<>();
    boolean barrier = false;
    for (String line : question.lines().toList()) {
      String[] words = line.split("\t", -1);
      byte[][] parts =
        Arrays.stream(words).skip(1).map(word -> Base64.getDecoder().decode(word)).toArray(byte[][]::new);
      switch (words[0]) {
        case "peer" -> peers.add(text(parts[0]));
        case "live" -> live.add(text(parts[0]));
        case "cell" -> cells.add(parts);
        case "name" -> files.add(new FileStatus(1, false, 1, 1L << 27, 0, new Path("/hbase/oldWALs/" + text(parts[0]))));
        case "barrier" -> barrier = true;
        default -> throw new IllegalArgumentException(line);
      }
    }
    oracle.setPeers(peers);
    replace(cells);
    if (barrier) {
      oracle.setBarrier(true);
    }
    try {
      return String.join("\n", ask(oracle.cleaner(live), files));
    } finally {
      if (barrier) {
        oracle.setBarrier(false);
      }
    }
  }

  private List<String> ask(ReplicationLogCleaner cleaner, List<FileStatus> files) {
    try {
      cleaner.preClean();
    } catch (RuntimeException e) {
      // a row that it cannot parse; it leaves the barrier taken
      oracle.peerManager().getReplicationLogCleanerBarrier().stop();
      return List.of(BLOCKED);
    }
    try {
      return verdicts(cleaner, files);
    } finally {
      cleaner.postClean();
    }
  }

  private static List<String> verdicts(ReplicationLogCleaner cleaner, List<FileStatus> files) {
    String[] verdicts = new String[files.size()];
    Arrays.fill(verdicts, KEEP);
    int start = 0;
    while (start < verdicts.length) {
      Pulled pulled = new Pulled(files, start);
      try {
        // The answer is lazy: each file is looked at as it is pulled, and an exception comes out of the iterator.
        for (FileStatus ignored : cleaner.getDeletableFiles(pulled)) {
          verdicts[pulled.last] = DELETE;
        }
        break;
      } catch (RuntimeException e) {
        verdicts[pulled.last] = THROWS;
        start = pulled.last + 1;
      }
    }
    return Arrays.asList(verdicts);
  }

  /** A list from some element on, which knows the last one it gave. */
  private static final class Pulled implements Iterable<FileStatus> {
    private final List<FileStatus> files;
    private int last;

    private Pulled(List<FileStatus> files, int start) {
      this.files = files;
      this.last = start - 1;
    }

    @Override
    public Iterator<FileStatus> iterator() {
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return last + 1 < files.size();
        }

        @Override
        public FileStatus next() {
          return files.get(++last);
        }
      };
    }
  }

  /**
   * Replaces all rows. Timestamps are given, each later than the last: of a deletion and a write in one millisecond the
   * deletion would win.
   */
  private void replace(List<byte[][]> cells) throws IOException {
    clock = Math.max(System.currentTimeMillis(), clock + 1);
    List<Delete> deletes = new ArrayList<>();
    for (byte[] row : written.values()) {
      deletes.add(new Delete(row, clock));
    }
    clock++;
    Map<String, Put> puts = new LinkedHashMap<>();
    for (byte[][] cell : cells) {
      puts.computeIfAbsent(Bytes.toStringBinary(cell[0]), key -> new Put(cell[0])).addColumn(cell[1], cell[2], clock,
        cell[3]);
    }
    try (Table table = queues()) {
      table.delete(deletes);
      written.clear();
      puts.values().forEach(put -> remember(put.getRow()));
      table.put(List.copyOf(puts.values()));
    }
  }

  /** Writes out what was deleted, so that scans stay short. */
  public void compact() throws IOException {
    harness.flush(Harness.QUEUES.getNameAsString());
    harness.compact(Harness.QUEUES.getNameAsString());
  }

  /** Leaves the table and the peers empty. */
  public void clear() throws IOException, ReflectiveOperationException {
    oracle.setPeers(List.of());
    replace(List.of());
  }

  private void remember(byte[] row) {
    written.put(Bytes.toStringBinary(row), row);
  }

  private Table queues() throws IOException {
    return harness.table(Harness.QUEUES.getNameAsString());
  }

  private static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
