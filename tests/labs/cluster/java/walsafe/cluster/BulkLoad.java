package walsafe.cluster;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.replication.regionserver.SourceFSConfigurationProvider;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.HFileTestUtil;

/** Bulk loads, whose HFiles replication copies from cluster to cluster. */
public final class BulkLoad {
  /** Where a peer finds the HFiles of its source: both clusters of these tests have one HDFS. The caller changes it. */
  public static final class SameFiles implements SourceFSConfigurationProvider {
    @Override
    public Configuration getConf(Configuration ofPeer, String sourceCluster) {
      return new Configuration(ofPeer);
    }
  }

  private BulkLoad() {
  }

  /** Loads one HFile with so many rows from one key to another, both among them. */
  public static void load(Harness harness, String table, String family, String from, String to, int rows)
    throws IOException {
    Configuration conf = harness.conf();
    Path file = new Path(harness.property("hbase.rootdir"), "to-load/" + from);
    byte[] column = Bytes.toBytes(family);
    HFileTestUtil.createHFile(conf, file.getFileSystem(conf), file, column, Bytes.toBytes("q"), Bytes.toBytes(from),
      Bytes.toBytes(to), rows);
    Map<byte[], List<Path>> files = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    files.put(column, List.of(file));
    BulkLoadHFiles.create(conf).bulkLoad(TableName.valueOf(table), files);
  }
}
