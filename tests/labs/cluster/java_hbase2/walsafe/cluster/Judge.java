package walsafe.cluster;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.replication.master.ReplicationLogCleaner;
import org.apache.hadoop.hbase.zookeeper.RecoverableZooKeeper;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;

/**
 * Many fabricated states a second before the real cleaner of HBase 2: one call writes queues below a znode of their own,
 * `replication-judged` in the place of `replication`, and asks about all files.
 */
public final class Judge {
  private static final String REPLICATION = "replication-judged";
  private static final int AT_ONCE = 500;

  private final Harness harness;
  private final String queues;
  private List<String> written = List.of();

  public Judge(Harness harness) throws IOException, KeeperException, InterruptedException {
    this.harness = harness;
    this.queues = harness.property("zookeeper.znode.parent") + "/" + REPLICATION + "/rs";
    asCreated(queues.substring(0, queues.length() - "/rs".length()));
    asCreated(queues);
  }

  /**
   * Answers for a state, one a line: DELETE or KEEP for each file, or BLOCKED alone where the cleaner dies over the
   * queues, as it then deletes nothing.
   *
   * @param question lines of a word and base64 texts, by tabs: `znode` path below rs and data, parents first; `name` file
   *          name and, as a number, its modification time; `time` when the cleaner began to read, a number
   */
  public String answers(String question) throws IOException, KeeperException, InterruptedException,
    ReflectiveOperationException {
    List<Op> made = new ArrayList<>();
    List<String> paths = new ArrayList<>();
    List<FileStatus> files = new ArrayList<>();
    long time = 0;
    for (String line : question.lines().toList()) {
      String[] words = line.split("\t", -1);
      switch (words[0]) {
        case "znode":
          String path = queues + "/" + text(words[1]);
          paths.add(path);
          made.add(Op.create(path, Base64.getDecoder().decode(words[2]), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
          break;
        case "name":
          Path file = new Path("/hbase/oldWALs/" + text(words[1]));
          files.add(new FileStatus(1, false, 1, 1L << 27, Long.parseLong(words[2]), file));
          break;
        case "time":
          time = Long.parseLong(words[1]);
          break;
        default:
          throw new IllegalArgumentException(line);
      }
    }
    replace(paths, made);
    ReplicationLogCleaner cleaner = cleaner();
    try {
      cleaner.preClean();
    } catch (RuntimeException e) {
      return "BLOCKED"; // a server name that it cannot parse
    }
    Field began = ReplicationLogCleaner.class.getDeclaredField("readZKTimestamp");
    began.setAccessible(true);
    began.setLong(cleaner, time);
    Set<FileStatus> deletable = Collections.newSetFromMap(new IdentityHashMap<>());
    cleaner.getDeletableFiles(files).forEach(deletable::add);
    List<String> answers = new ArrayList<>();
    for (FileStatus file : files) {
      answers.add(deletable.contains(file) ? "DELETE" : "KEEP");
    }
    return String.join("\n", answers);
  }

  /** Leaves no queue. */
  public void clear() throws IOException, KeeperException, InterruptedException {
    replace(List.of(), List.of());
  }

  private ReplicationLogCleaner cleaner() {
    Configuration conf = new Configuration(harness.conf());
    conf.set("zookeeper.znode.replication", REPLICATION);
    ReplicationLogCleaner cleaner = new ReplicationLogCleaner();
    cleaner.setConf(conf);
    cleaner.init(Map.of(HMaster.MASTER, harness.master()));
    return cleaner;
  }

  private void replace(List<String> paths, List<Op> made) throws IOException, KeeperException, InterruptedException {
    List<Op> operations = new ArrayList<>();
    for (int at = written.size() - 1; at >= 0; at--) {
      operations.add(Op.delete(written.get(at), -1));
    }
    operations.addAll(made);
    written = paths;
    for (int at = 0; at < operations.size(); at += AT_ONCE) {
      zookeeper().multi(operations.subList(at, Math.min(at + AT_ONCE, operations.size())));
    }
  }

  private void asCreated(String path) throws IOException, KeeperException, InterruptedException {
    if (zookeeper().exists(path, false) == null) {
      zookeeper().create(path, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }
  }

  private RecoverableZooKeeper zookeeper() throws IOException {
    return harness.master().getZooKeeper().getRecoverableZooKeeper();
  }

  private static String text(String base64) {
    return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
  }
}
