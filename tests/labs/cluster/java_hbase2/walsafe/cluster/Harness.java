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
import org.apache.hadoop.hbase.MiniHBaseCluster;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.StartMiniClusterOption;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.master.procedure.ServerCrashProcedure;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfig;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfigBuilder;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.JVMClusterUtil.RegionServerThread;

/** One HBase 2 on an HDFS that runs elsewhere: as much of the HBase 3 harness as its tests need, by the same names. */
public final class Harness {
  private static final class Util extends HBaseTestingUtility {
    private final String root;

    private Util(Configuration conf) {
      super(conf);
      this.root = conf.get("hbase.rootdir");
    }

    @Override
    public Path getDefaultRootDirPath(boolean create) {
      return new Path(root);
    }
  }

  private final Util util;

  /** A second argument for the sake of the other harness: this one always has a ZooKeeper of its own. */
  public Harness(Map<String, String> properties, Harness none) {
    Configuration conf = HBaseConfiguration.create();
    properties.forEach(conf::set);
    this.util = new Util(conf);
  }

  public void start(int servers) throws Exception {
    util.startMiniZKCluster();
    util.startMiniHBaseCluster(StartMiniClusterOption.builder().numRegionServers(servers).createRootDir(false)
      .createWALDir(false).build());
    // The master would delete what the tests look at.
    admin().cleanerChoreSwitch(false);
    admin().balancerSwitch(false, true);
  }

  HMaster master() {
    return util.getHBaseCluster().getMaster();
  }

  Configuration conf() {
    return util.getConfiguration();
  }

  private Admin admin() throws IOException {
    return util.getAdmin();
  }

  public String property(String name) {
    return conf().get(name);
  }

  public String clusterKey() {
    return util.getClusterKey();
  }

  public String clusterId() throws IOException {
    return admin().getClusterMetrics().getClusterId();
  }

  // servers

  public List<String> onlineServers() {
    return master().getServerManager().getOnlineServersList().stream().map(ServerName::toString).sorted()
      .collect(Collectors.toList());
  }

  public List<String> crashing() {
    return master().getMasterProcedureExecutor().getProcedures().stream()
      .filter(procedure -> procedure instanceof ServerCrashProcedure && !procedure.isFinished())
      .map(procedure -> ((ServerCrashProcedure) procedure).getServerName().toString()).sorted()
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
    List<RegionInfo> regions = admin().getRegions(TableName.valueOf(table));
    admin().move(regions.get(index % regions.size()).getEncodedNameAsBytes(), ServerName.valueOf(to));
  }

  // tables

  public void createTable(String name, String family, int scope, List<String> splits) throws IOException {
    byte[][] keys = splits.stream().map(Bytes::toBytes).toArray(byte[][]::new);
    admin().createTable(TableDescriptorBuilder.newBuilder(TableName.valueOf(name)).setColumnFamily(
      ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(family)).setScope(scope).build()).build(), keys);
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
  public void addPeer(String id, String clusterKey, boolean enabled, boolean serial) throws IOException {
    ReplicationPeerConfigBuilder config =
      ReplicationPeerConfig.newBuilder().setClusterKey(clusterKey).setSerial(serial);
    if (clusterKey.startsWith("nowhere:")) {
      config.setReplicationEndpointImpl(NowhereEndpoint.class.getName());
    }
    admin().addReplicationPeer(id, config.build(), enabled);
  }

  public void setPeer(String id, boolean enabled) throws IOException {
    if (enabled) {
      admin().enableReplicationPeer(id);
    } else {
      admin().disableReplicationPeer(id);
    }
  }

  public void removePeer(String id) throws IOException {
    admin().removeReplicationPeer(id);
  }

  // the whole cluster

  /** Ends all servers at once: nothing is flushed, no WAL is archived. */
  public void crash() throws IOException {
    MiniHBaseCluster cluster = util.getMiniHBaseCluster();
    cluster.getLiveRegionServerThreads().forEach(thread -> StoppedServers.letEnd(thread.getRegionServer()));
    util.killMiniHBaseCluster();
    cluster.waitUntilShutDown();
  }

  public void restart(int servers) throws Exception {
    util.restartHBaseCluster(servers);
    util.invalidateConnection();
    admin().cleanerChoreSwitch(false);
    admin().balancerSwitch(false, true);
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
