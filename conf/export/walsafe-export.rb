# frozen_string_literal: true

# The HBase part of walsafe-export.sh, for `hbase shell -n`: HBase's Java client through the shell's JRuby. Reads only.
#
# The order of the parts is the safety argument of docs/safety.md; do not change it.
require 'json'
load File.expand_path('../walsafe-export-common.rb', __FILE__)

HBASE = org.apache.hadoop.hbase
Client = org.apache.hadoop.hbase.client
Option = org.apache.hadoop.hbase.ClusterMetrics::Option

CONNECTION = Client.ConnectionFactory.createConnection(CONF)
ADMIN = CONNECTION.getAdmin
BACKUPS = HBASE.TableName.valueOf(CONF.get('hbase.backup.system.table.name', 'backup:system'))
QUEUES = HBASE.TableName.valueOf(CONF.get('hbase.replication.queue.table.name', 'hbase:replication'))

def metrics(*options)
  ADMIN.getClusterMetrics(java.util.EnumSet.copyOf(options))
end

# The name comes first, as in hbase_admin.py. The master refuses the second call until it is initialized; before, it
# answers with no procedures. `named_first` tells capture that this script did not ask the other way round.
def active_master
  name = metrics(Option::MASTER).getMasterName.toString
  ADMIN.getNamespaceDescriptor('hbase')
  { active_master: name, named_first: true }
end

# The dead ones first: one that dies while this is asked was online all the while that matters.
def servers
  dead = metrics(Option::DEAD_SERVERS).getDeadServerNames.map(&:toString)
  { dead: dead, servers: metrics(Option::SERVERS_NAME).getServersName.map(&:toString) }
end

# What tells a crash, an AddPeer or a migration; peers' configurations inside procedures are left out.
# A client older than the cluster gives a text in the place of a procedure it cannot read; capture judges it.
def procedures
  JSON.parse(ADMIN.getProcedures).map do |one|
    next one unless one.is_a?(Hash)

    servers = Array(one['stateMessage']).select { |message| message.key?('serverName') }
    { className: one['className'], state: one['state'],
      stateMessage: servers.map { |message| { serverName: message['serverName'] } } }
  end
end

def known(thing, method)
  thing.respond_to?(method) ? thing.public_send(method) : nil
end

# Which tables a peer takes (`map`, then `to_h`: that of a Java map ignores its block); an empty list of families means all of them.
def rule(config)
  tables = lambda do |method|
    (known(config, method) || {}).map { |table, families| [table.getNameAsString, (families || []).to_a] }.to_h
  end
  { namespaces: (config.getNamespaces || []).to_a, tables: tables.call(:getTableCFsMap),
    exclude_namespaces: (known(config, :getExcludeNamespaces) || []).to_a,
    exclude_tables: tables.call(:getExcludeTableCFsMap) }
end

def peer(description)
  config = description.getPeerConfig
  state = known(description, :getSyncReplicationState)
  { peer_id: description.getPeerId, state: description.isEnabled ? 'ENABLED' : 'DISABLED',
    cluster_key: config.getClusterKey, endpoint: config.getReplicationEndpointImpl,
    serial: known(config, :isSerial), replicate_all: known(config, :replicateAllUserTables),
    sync_replication_state: state&.toString, remote_wal_dir: known(config, :getRemoteWALDir),
    config: config.getConfiguration.map { |key, value| [key, key =~ TELLING_NAME ? HIDDEN : value] }.to_h,
    rule: rule(config) }
end

# Queue data of HBase 2 in ZooKeeper: true, false, or nil where it cannot be told.
def zk_queue_data
  keeper = zookeeper
  begin
    return nil if keeper.exists("#{ROOT}/hbaseid", false).nil?

    %w[rs regions hfile-refs].any? { |name| !keeper.exists("#{REPLICATION}/#{name}", false).nil? }
  ensure
    keeper.close
  end
rescue java.lang.Exception, StandardError => e
  warn "ZooKeeper leftovers are unknown: #{e}"
  nil
end

def flags(now_running)
  running = lambda do |kind|
    now_running.any? do |one|
      next one.to_s.include?(kind.delete_suffix('Procedure')) unless one.is_a?(Hash)

      one[:className].end_with?(".#{kind}") && !%w[SUCCESS ROLLEDBACK].include?(one[:state])
    end
  end
  { queue_table_exists: ADMIN.tableExists(QUEUES), add_peer_running: running.call('AddPeerProcedure'),
    migration_pending: running.call('MigrateReplicationQueueFromZkToTableProcedure'), zk_queue_data: zk_queue_data }
end

def coded(bytes)
  base64(String.from_java_bytes(bytes))
end

# Every cell that a scan gives, one a line as the block puts it, and the count of rows at the end.
def scan_table(out, table, scan)
  rows = 0
  last = nil
  scan.setCaching(500)
  scanner = CONNECTION.getTable(table).getScanner(scan)
  while (result = scanner.next)
    row = coded(result.getRow)
    rows += 1 unless row == last
    last = row
    result.listCells.each { |cell| out.puts JSON.generate(yield(row, cell)) }
  end
  scanner.close
  out.puts "#{rows} row(s)"
end

def whole_cell(row, cell)
  util = HBASE.CellUtil
  { row: row, family: coded(util.cloneFamily(cell)), qualifier: coded(util.cloneQualifier(cell)),
    value: coded(util.cloneValue(cell)) }
end

def scan_queues(out)
  return out.puts('0 row(s)') unless ADMIN.tableExists(QUEUES)

  scan = Client.Scan.new
  scan.setBatch(1000)
  scan_table(out, QUEUES, scan) { |row, cell| whole_cell(row, cell) }
end

# Sessions of HBase backup: what the next incremental backup still needs.
def scan_backups(out)
  scan = Client.Scan.new
  scan.addFamily('session'.to_java_bytes)
  scan_table(out, BACKUPS, scan) { |row, cell| whole_cell(row, cell) }
end

# Where ranges of serial replication begin, all versions: one a time that the region was opened.
def scan_barriers(out)
  scan = Client.Scan.new
  scan.addColumn('rep_barrier'.to_java_bytes, 'seqnumDuringOpen'.to_java_bytes)
  scan.readAllVersions
  scan_table(out, HBASE.TableName::META_TABLE_NAME, scan) do |row, cell|
    { row: row, timestamp: cell.getTimestamp, value: coded(HBASE.CellUtil.cloneValue(cell)) }
  end
end

part('online') { |out| out.puts JSON.generate(servers) }
part('crashing') { |out| out.puts JSON.generate(active_master.merge(procedures: JSON.generate(procedures))) }
peers = []
part('peers') do |out|
  peers = ADMIN.listReplicationPeers.map { |one| peer(one) }
  out.puts JSON.generate(peers: peers, flags: flags(procedures), backup_table: ADMIN.tableExists(BACKUPS))
end
part('backup') { |out| scan_backups(out) } if CONF.getBoolean('hbase.backup.enable', false) && ADMIN.tableExists(BACKUPS)
part('barriers') { |out| scan_barriers(out) } if peers.any? { |one| one[:serial] }
part('queues-1') { |out| scan_queues(out) }
part('queues-2') { |out| scan_queues(out) }
part('online-2') { |out| out.puts JSON.generate(servers) }
cluster = metrics(Option::CLUSTER_ID, Option::HBASE_VERSION)
part('settings') do |out|
  out.puts JSON.generate(
    site_settings.merge(cluster_id: cluster.getClusterId, hbase_version: cluster.getHBaseVersion, queue_storage: 'table')
  )
end
part('crashing-2') do |out|
  found = procedures
  states = flags(found)
  out.puts JSON.generate({ procedures: JSON.generate(found), flags: states }.merge(active_master))
end
CONNECTION.close
