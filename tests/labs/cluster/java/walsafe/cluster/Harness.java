package walsafe.cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HBaseTestingUtil;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.SingleProcessHBaseCluster;
import org.apache.hadoop.hbase.StartTestingClusterOption;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Hbck;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.master.procedure.ServerCrashProcedure;
import org.apache.hadoop.hbase.regionserver.HRegionServer;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfig;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfigBuilder;
import org.apache.hadoop.hbase.replication.SyncReplicationState;
import org.apache.hadoop.hbase.shaded.protobuf.ProtobufUtil;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.CommonFSUtils;
import org.apache.hadoop.hbase.util.FSUtils;
import org.apache.hadoop.hbase.util.JVMClusterUtil.MasterThread;
import org.apache.hadoop.hbase.util.JVMClusterUtil.RegionServerThread;
import org.apache.hadoop.hbase.zookeeper.ZKUtil;
import org.apache.hadoop.hbase.zookeeper.ZKWatcher;

/** One HBase cluster on an HDFS that runs elsewhere; plain strings in and out, so that Python needs no HBase types. */
public final class Harness {
  static final TableName QUEUES = TableName.valueOf("hbase:replication");

  /** The testing utility makes up a root directory of its own; where tables are read as files, it is in HDFS. */
  private static final class Util extends HBaseTestingUtil {
    private final boolean inHdfs;
    private final Path root;

    private Util(Configuration conf) {
      super(conf);
      this.inHdfs = conf.getBoolean("walsafe.root.in.hdfs", false);
      // the utility has put a directory of its own in the place of what was configured
      this.root = new Path(conf.get(inHdfs ? "original.hbase.dir" : "hbase.rootdir"));
    }

    @Override
    public Path getDefaultRootDirPath(boolean create) {
      return root;
    }

    /** On the file system of its own URI: with another default, every server would run as a user of its own. */
    @Override
    public Path createRootDir(boolean create) throws IOException {
      if (!inHdfs) {
        return super.createRootDir(create);
      }
      FileSystem files = root.getFileSystem(getConfiguration());
      CommonFSUtils.setRootDir(getConfiguration(), root);
      files.mkdirs(root);
      FSUtils.setVersion(files, root);
      return root;
    }
  }

  private final Util util;
  private final Harness zooKeeperOwner;
  private final CrashHold holds = new CrashHold();

  public Harness(Map<String, String> properties, Harness zooKeeperOwner) {
    Configuration conf = HBaseConfiguration.create();
    properties.forEach(conf::set);
    this.util = new Util(conf);
    this.zooKeeperOwner = zooKeeperOwner;
  }

  public void start(int servers) throws Exception {
    if (zooKeeperOwner == null) {
      util.startMiniZKCluster();
    } else {
      util.setZkCluster(zooKeeperOwner.util.getZkCluster());
    }
    util.startMiniHBaseCluster(StartTestingClusterOption.builder().numRegionServers(servers)
      .masterClass(GatedMaster.class).createRootDir(false).createWALDir(false).build());
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

  Table table(String name) throws IOException {
    return util.getConnection().getTable(TableName.valueOf(name));
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

  HRegionServer someServer() {
    return util.getHBaseCluster().getLiveRegionServerThreads().get(0).getRegionServer();
  }

  public List<String> liveServers() {
    return util.getHBaseCluster().getLiveRegionServerThreads().stream()
      .map(thread -> thread.getRegionServer().getServerName().toString()).sorted().collect(Collectors.toList());
  }

  public List<String> onlineServers() {
    return master().getServerManager().getOnlineServersList().stream().map(ServerName::toString).sorted()
      .collect(Collectors.toList());
  }

  public List<String> deadServers() throws IOException {
    return admin().getClusterMetrics(EnumSet.of(ClusterMetrics.Option.DEAD_SERVERS)).getDeadServerNames().stream()
      .map(ServerName::toString).sorted().collect(Collectors.toList());
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
    StoppedServers.letEnd(util.getMiniHBaseCluster().getRegionServer(ServerName.valueOf(server)));
    util.getHBaseCluster().killRegionServer(ServerName.valueOf(server));
  }

  /** Moves the regions of system tables, or all regions, from one server to another. */
  public void evacuate(String from, String to, boolean systemOnly) throws IOException {
    for (RegionInfo region : admin().getRegions(ServerName.valueOf(from))) {
      if (!systemOnly || region.getTable().isSystemTable()) {
        admin().move(region.getEncodedNameAsBytes(), ServerName.valueOf(to));
      }
    }
  }

  /** Moves one region of a table to a server. */
  public void moveRegion(String table, int index, String to) throws IOException {
    List<RegionInfo> regions = admin().getRegions(TableName.valueOf(table));
    admin().move(regions.get(index % regions.size()).getEncodedNameAsBytes(), ServerName.valueOf(to));
  }

  /** What HBCK2 does for its command of that name: the procedure's id, or -1 where the master does nothing. */
  public long scheduleRecovery(String server) throws IOException {
    try (Hbck hbck = util.getConnection().getHbck()) {
      return hbck.scheduleServerCrashProcedures(List.of(ServerName.valueOf(server))).get(0);
    }
  }

  /** What the shell does for clear_deadservers; whether the master has forgotten that server. */
  public boolean clearDeadServer(String server) throws IOException {
    return admin().clearDeadServers(List.of(ServerName.valueOf(server))).isEmpty();
  }

  public void holdCrash(String server, String stage) throws ReflectiveOperationException {
    holds.hold(master(), ServerName.valueOf(server), stage);
  }

  public boolean crashMetStorage(String server) {
    return holds.metStorage(ServerName.valueOf(server));
  }

  public void releaseCrash(String server) {
    holds.release(master(), ServerName.valueOf(server));
  }

  // masters

  /** The master that ZooKeeper names, which a client would ask; it may be loading still. */
  public String activeMaster() throws Exception {
    ZKWatcher zooKeeper = util.getZooKeeperWatcher();
    byte[] data = ZKUtil.getData(zooKeeper, zooKeeper.getZNodePaths().masterAddressZNode);
    return data == null ? "" : ProtobufUtil.parseServerNameFrom(data).toString();
  }

  /** All procedures as a client sees them, in JSON. */
  public String procedures() throws IOException {
    return admin().getProcedures();
  }

  public boolean masterInitialized() throws Exception {
    HMaster master = master();
    return master != null && master.isInitialized() && master.getServerName().toString().equals(activeMaster());
  }

  public String startMaster() throws IOException {
    MasterThread thread = util.getHBaseCluster().startMaster();
    return thread.getMaster().getServerName().toString();
  }

  public void killActiveMaster() throws IOException {
    util.getHBaseCluster().killMaster(master().getServerName());
  }

  // tables

  public void createTable(String name, String family, int scope, List<String> splits) throws IOException {
    byte[][] keys = splits.stream().map(Bytes::toBytes).toArray(byte[][]::new);
    TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(TableName.valueOf(name)).setColumnFamily(
      ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(family)).setScope(scope).build());
    if (keys.length == 0) {
      admin().createTable(builder.build());
    } else {
      admin().createTable(builder.build(), keys);
    }
  }

  public void putRows(String name, String family, List<String> rows, String value) throws IOException {
    List<Put> puts = new ArrayList<>();
    for (String row : rows) {
      puts.add(new Put(Bytes.toBytes(row)).addColumn(Bytes.toBytes(family), Bytes.toBytes("q"), Bytes.toBytes(value)));
    }
    try (Table table = table(name)) {
      table.put(puts);
    }
  }

  public int countRows(String name) throws IOException {
    int rows = 0;
    try (Table table = table(name); ResultScanner scanner = table.getScanner(new Scan())) {
      for (Result ignored : scanner) {
        rows++;
      }
    }
    return rows;
  }

  public void flush(String name) throws IOException {
    admin().flush(TableName.valueOf(name));
  }

  /** Asks for a major compaction; it runs by itself. */
  public void compact(String name) throws IOException {
    admin().majorCompact(TableName.valueOf(name));
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

  /** A peer with synchronous replication of one whole table; it begins as DOWNGRADE_ACTIVE. */
  public void addSyncPeer(String id, String clusterKey, String remoteWalDir, String table) throws IOException {
    admin().addReplicationPeer(id, ReplicationPeerConfig.newBuilder().setClusterKey(clusterKey)
      .setReplicateAllUserTables(false).setTableCFsMap(Map.of(TableName.valueOf(table), new ArrayList<>()))
      .setRemoteWALDir(remoteWalDir).build(), true);
  }

  /** Takes a synchronous peer to another state, and waits for the end of the procedure. */
  public void transitSyncPeer(String id, String state) throws IOException {
    admin().transitReplicationPeerSyncReplicationState(id, SyncReplicationState.valueOf(state));
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

  public List<String> peers() throws IOException {
    return admin().listReplicationPeers().stream()
      .map(peer -> peer.getPeerId() + "\t" + (peer.isEnabled() ? "ENABLED" : "DISABLED")).sorted()
      .collect(Collectors.toList());
  }

  /** Each cell of the queue table as four base64 texts: row, family, qualifier, value. */
  public List<String> queueCells() throws IOException {
    Base64.Encoder encoder = Base64.getEncoder();
    List<String> cells = new ArrayList<>();
    try (Table table = table(QUEUES.getNameAsString()); ResultScanner scanner = table.getScanner(new Scan())) {
      for (Result result : scanner) {
        for (Cell cell : result.rawCells()) {
          cells.add(String.join("\t", encoder.encodeToString(CellUtil.cloneRow(cell)),
            encoder.encodeToString(CellUtil.cloneFamily(cell)), encoder.encodeToString(CellUtil.cloneQualifier(cell)),
            encoder.encodeToString(CellUtil.cloneValue(cell))));
        }
      }
    }
    return cells;
  }

  public void putQueueCells(List<String> cells) throws IOException {
    Base64.Decoder decoder = Base64.getDecoder();
    List<Put> puts = new ArrayList<>();
    for (String line : cells) {
      String[] cell = line.split("\t", -1);
      puts.add(new Put(decoder.decode(cell[0])).addColumn(decoder.decode(cell[1]), decoder.decode(cell[2]),
        decoder.decode(cell[3])));
    }
    try (Table table = table(QUEUES.getNameAsString())) {
      table.put(puts);
    }
  }

  public void clearQueueTable() throws IOException {
    List<Delete> deletes = new ArrayList<>();
    try (Table table = table(QUEUES.getNameAsString())) {
      try (ResultScanner scanner = table.getScanner(new Scan())) {
        for (Result result : scanner) {
          deletes.add(new Delete(result.getRow()));
        }
      }
      table.delete(deletes);
    }
  }

  // files

  /** Ends all servers at once: nothing is flushed, no WAL is archived. ZooKeeper and HDFS go on. */
  public void crash() throws IOException {
    SingleProcessHBaseCluster cluster = util.getMiniHBaseCluster();
    cluster.getLiveRegionServerThreads().forEach(thread -> StoppedServers.letEnd(thread.getRegionServer()));
    util.killMiniHBaseCluster();
    cluster.waitUntilShutDown();
  }

  public void restart(int servers) throws Exception {
    util.restartHBaseCluster(
      StartTestingClusterOption.builder().numRegionServers(servers).masterClass(GatedMaster.class).build());
    util.invalidateConnection();
    admin().cleanerChoreSwitch(false);
    admin().balancerSwitch(false, true);
  }

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

  public void close() throws Exception {
    GatedMaster.open();
    util.shutdownMiniHBaseCluster();
    if (zooKeeperOwner == null) {
      util.shutdownMiniZKCluster();
    }
  }
}
