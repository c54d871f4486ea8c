package walsafe.cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HBaseTestingUtility;
import org.apache.hadoop.hbase.HColumnDescriptor;
import org.apache.hadoop.hbase.HRegionInfo;
import org.apache.hadoop.hbase.HTableDescriptor;
import org.apache.hadoop.hbase.MiniHBaseCluster;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.replication.ReplicationAdmin;
import org.apache.hadoop.hbase.master.DeadServer;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfig;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.FSUtils;
import org.apache.hadoop.hbase.util.JVMClusterUtil.RegionServerThread;

/** One HBase 1 on an HDFS that runs elsewhere: as much of the HBase 2 harness as its tests need, by the same names. */
public final class Harness {
  /** The testing utility makes up a root directory of its own; a source of HBase 1 needs the one of the WALs. */
  private static final class Util extends HBaseTestingUtility {
    private Util(Configuration conf) {
      super(conf);
    }

    /** With the HDFS as the default, every server would run as a user of its own, who may not write there. */
    @Override
    public Path createRootDir(boolean create) throws IOException {
      getConfiguration().set("fs.defaultFS", "file:///");
      Path root = new Path(getConfiguration().get("hbase.wal.dir"));
      FileSystem files = root.getFileSystem(getConfiguration());
      FSUtils.setRootDir(getConfiguration(), root);
      files.mkdirs(root);
      FSUtils.setVersion(files, root);
      return root;
    }
  }

  private final Util util;
  private ReplicationAdmin replication;

  /** A second argument for the sake of the other harness: another cluster, whose ZooKeeper is shared. */
  public Harness(Map<String, String> properties, Harness other) {
    Configuration conf = HBaseConfiguration.create();
    properties.forEach(conf::set);
    conf.unset("hbase.client.registry.impl"); // 1.4 has no such class; ZooKeeper is its only registry
    // a killed server closes its file system, which others would use
    conf.setBoolean("fs.hdfs.impl.disable.cache", true);
    this.util = new Util(conf);
    if (other != null) {
      util.setZkCluster(other.util.getZkCluster());
    }
  }

  public void start(int servers) throws Exception {
    if (util.getZkCluster() == null) {
      util.startMiniZKCluster();
    }
    util.startMiniHBaseCluster(1, servers);
    replication = new ReplicationAdmin(conf());
    stopChores();
  }

  /** The master would delete what the tests look at. */
  private void stopChores() throws IOException {
    admin().setCleanerChoreRunning(false);
    admin().setBalancerRunning(false, true);
  }

  HMaster master() {
    return util.getHBaseCluster().getMaster();
  }

  Configuration conf() {
    return util.getConfiguration();
  }

  private Admin admin() throws IOException {
    return util.getHBaseAdmin();
  }

  public String property(String name) {
    return conf().get(name);
  }

  public String clusterKey() {
    return util.getClusterKey();
  }

  public String clusterId() throws IOException {
    return admin().getClusterStatus().getClusterId();
  }

  // servers

  public List<String> onlineServers() {
    return master().getServerManager().getOnlineServersList().stream().map(ServerName::toString).sorted()
      .collect(Collectors.toList());
  }

  /** The dead servers that the master is not through with. */
  public List<String> crashing() {
    DeadServer dead = master().getServerManager().getDeadServers();
    return dead.copyServerNames().stream().filter(dead::isProcessingServer).map(ServerName::toString).sorted()
      .collect(Collectors.toList());
  }

  public String startServer() throws IOException {
    RegionServerThread thread = util.getHBaseCluster().startRegionServer();
    thread.waitForServerOnline();
    return thread.getRegionServer().getServerName().toString();
  }

  public void killServer(String server) throws IOException {
    util.getHBaseCluster().killRegionServer(ServerName.valueOf(server));
  }

  /** Moves one region of a table to a server. */
  public void moveRegion(String table, int index, String to) throws IOException {
    List<HRegionInfo> regions = admin().getTableRegions(TableName.valueOf(table));
    admin().move(regions.get(index % regions.size()).getEncodedNameAsBytes(), Bytes.toBytes(to));
  }

  // tables

  public void createTable(String name, String family, int scope, List<String> splits) throws IOException {
    byte[][] keys = splits.stream().map(Bytes::toBytes).toArray(byte[][]::new);
    HTableDescriptor table = new HTableDescriptor(TableName.valueOf(name));
    admin().createTable(table.addFamily(new HColumnDescriptor(family).setScope(scope)), keys);
  }

  public void putRows(String name, String family, List<String> rows, String value) throws IOException {
    List<Put> puts = new ArrayList<>();
    for (String row : rows) {
      puts.add(new Put(Bytes.toBytes(row)).addColumn(Bytes.toBytes(family), Bytes.toBytes("q"), Bytes.toBytes(value)));
    }
    try (Table table = util.getConnection().getTable(TableName.valueOf(name))) {
      table.put(puts);
    }
  }

  public int countRows(String name) throws IOException {
    int rows = 0;
    try (Table table = util.getConnection().getTable(TableName.valueOf(name));
        ResultScanner scanner = table.getScanner(new Scan())) {
      for (Result ignored : scanner) {
        rows++;
      }
    }
    return rows;
  }

  public void flush(String name) throws IOException {
    admin().flush(TableName.valueOf(name));
  }

  public void rollWals(String server) throws IOException {
    admin().rollWALWriter(ServerName.valueOf(server));
  }

  public boolean tableExists(String name) throws IOException {
    return admin().tableExists(TableName.valueOf(name));
  }

  // replication

  /** A peer: another cluster, or, if the host of its key is `nowhere`, one that takes everything at once. */
  public void addPeer(String id, String clusterKey, boolean enabled, boolean serial) throws Exception {
    ReplicationPeerConfig config = new ReplicationPeerConfig().setClusterKey(clusterKey);
    if (clusterKey.startsWith("nowhere:")) {
      config.setReplicationEndpointImpl(NowhereEndpoint.class.getName());
    }
    replication.addPeer(id, config);
    if (!enabled) {
      replication.disablePeer(id);
    }
  }

  public void setPeer(String id, boolean enabled) throws Exception {
    if (enabled) {
      replication.enablePeer(id);
    } else {
      replication.disablePeer(id);
    }
  }

  public void removePeer(String id) throws Exception {
    replication.removePeer(id);
  }

  // the whole cluster

  /** Ends all servers at once: nothing is flushed, no WAL is archived. */
  public void crash() {
    MiniHBaseCluster cluster = util.getMiniHBaseCluster();
    cluster.killAll();
    cluster.waitUntilShutDown();
  }

  public void restart(int servers) throws Exception {
    util.restartHBaseCluster(servers);
    stopChores();
  }

  // files

  /** Each file below a directory as path relative to the root, length and modification time. */
  public List<String> files(String directory) throws IOException {
    Path root = new Path(property("hbase.wal.dir"));
    FileSystem fs = root.getFileSystem(conf());
    String prefix = fs.makeQualified(root).toUri().getPath() + "/";
    List<String> files = new ArrayList<>();
    RemoteIterator<LocatedFileStatus> iterator = fs.listFiles(new Path(root, directory), true);
    while (iterator.hasNext()) {
      LocatedFileStatus file = iterator.next();
      files.add(file.getPath().toUri().getPath().substring(prefix.length()) + "\t" + file.getLen() + "\t"
        + file.getModificationTime());
    }
    files.sort(null);
    return files;
  }
}
