package walsafe.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.replication.master.ReplicationLogCleaner;

/** The ReplicationLogCleaner of HBase 1, asked in the running master about one file at a time. */
public final class Oracle {
  private final Harness harness;

  public Oracle(Harness harness) {
    this.harness = harness;
  }

  /**
   * A verdict for each line of path, length and modification time; each file is a reading of the queues.
   *
   * @param live what the cleaner of HBase 3 can be told; this one does not ask who is alive
   */
  public void verdicts(String input, String output, List<String> live) throws IOException {
    if (live != null) {
      throw new IllegalArgumentException("the cleaner of HBase 1 does not ask who is alive");
    }
    ReplicationLogCleaner cleaner = new ReplicationLogCleaner();
    cleaner.setConf(harness.conf());
    cleaner.init(Collections.singletonMap(HMaster.MASTER, harness.master()));
    List<String> answers = new ArrayList<>();
    for (String line : Files.readAllLines(Paths.get(input))) {
      String[] parts = line.split("\t", -1);
      Path path = new Path("/hbase/" + parts[0]);
      FileStatus file = new FileStatus(Long.parseLong(parts[1]), false, 1, 1L << 27, Long.parseLong(parts[2]), path);
      boolean goes = cleaner.getDeletableFiles(Collections.singletonList(file)).iterator().hasNext();
      answers.add(goes ? "DELETE" : "KEEP");
    }
    Files.write(Paths.get(output), answers);
  }
}
