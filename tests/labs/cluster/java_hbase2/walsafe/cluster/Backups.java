package walsafe.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.backup.BackupInfo;
import org.apache.hadoop.hbase.backup.BackupInfo.BackupState;
import org.apache.hadoop.hbase.backup.BackupType;
import org.apache.hadoop.hbase.backup.impl.BackupSystemTable;
import org.apache.hadoop.hbase.backup.master.BackupLogCleaner;
import org.apache.hadoop.hbase.master.HMaster;

/** HBase backup's own system table and log cleaner (hbase-backup), in a running master that has no backups itself. */
public final class Backups {
  private final Harness harness;
  private final Configuration conf;

  public Backups(Harness harness) {
    this.harness = harness;
    this.conf = new Configuration(harness.conf());
    this.conf.setBoolean("hbase.backup.enable", true);
  }

  /**
   * Writes a session as a backup does, or in the place of the one with its id.
   *
   * @param rolled lines of table, {@code host:port} and the timestamp of the roll
   */
  public void put(String id, String root, String type, String state, long started, List<String> rolled)
    throws IOException {
    Map<TableName, Map<String, Long>> timestamps = new HashMap<>();
    for (String line : rolled) {
      String[] parts = line.split("\t", -1);
      timestamps.computeIfAbsent(TableName.valueOf(parts[0]), table -> new HashMap<>()).put(parts[1],
        Long.parseLong(parts[2]));
    }
    TableName[] tables = timestamps.keySet().toArray(new TableName[0]);
    BackupInfo info = new BackupInfo(id, BackupType.valueOf(type), tables, root);
    info.setState(BackupState.valueOf(state));
    info.setStartTs(started);
    info.setCompleteTs(info.getState() == BackupState.COMPLETE ? started + 1 : 0);
    info.setTableSetTimestampMap(timestamps);
    try (BackupSystemTable table = new BackupSystemTable(harness.master().getConnection())) {
      table.updateBackupInfo(info);
    }
  }

  public void delete(String id) throws IOException {
    try (BackupSystemTable table = new BackupSystemTable(harness.master().getConnection())) {
      table.deleteBackupInfo(id);
    }
  }

  /** The log cleaner of HBase backup, about each line of path, length and modification time alone. */
  public void verdicts(String input, String output) throws IOException {
    BackupLogCleaner cleaner = new BackupLogCleaner();
    cleaner.setConf(conf);
    cleaner.init(Map.of(HMaster.MASTER, harness.master()));
    List<String> answers = new ArrayList<>();
    for (String line : Files.readAllLines(Paths.get(input))) {
      String[] parts = line.split("\t", -1);
      Path path = new Path(harness.property("hbase.wal.dir"), parts[0]);
      FileStatus file = new FileStatus(Long.parseLong(parts[1]), false, 1, 1L << 27, Long.parseLong(parts[2]), path);
      boolean goes = cleaner.getDeletableFiles(Collections.singletonList(file)).iterator().hasNext();
      answers.add(goes ? "DELETE" : "KEEP");
    }
    Files.write(Paths.get(output), answers);
  }
}
