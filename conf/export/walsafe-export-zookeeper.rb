# The HBase part of walsafe-export.sh where the queues are in ZooKeeper (HBase 1.x and 2.x), for `hbase shell -n`: reads
# znodes through ZooKeeper's Java client, in one session, and HBase's configuration. It asks no master. Reads only.
#
# The order of the parts, and that of the znodes in a part, is the safety argument of docs/safety.md; do not change it.
load File.expand_path('../walsafe-export-common.rb', __FILE__)

KeeperError = org.apache.zookeeper.KeeperException
QUEUES = "#{REPLICATION}/rs"
PEERS = "#{REPLICATION}/peers"
# Names that are not in the configuration of walsafe, and must be HBase's defaults.
NEEDED = { 'zookeeper.znode.replication.rs' => %w[rs],
           'zookeeper.znode.replication.peers' => %w[peers],
           'hbase.replication.peer.storage.impl' =>
             %w[zookeeper org.apache.hadoop.hbase.replication.zkreplicationpeerstorage] }
KEEPER = zookeeper

# The JSON of a value; the Ruby of HBase 1.x has no library for it.
def json(value)
  case value
  when nil then 'null'
  when true, false, Numeric then value.to_s
  when Hash then "{#{value.map { |key, one| "#{json(key.to_s)}:#{json(one)}" }.join(',')}}"
  when Array then "[#{value.map { |one| json(one) }.join(',')}]"
  else "\"#{value.gsub(/["\\\x00-\x1f]/) { |found| format('\\u%04x', found.unpack('C').first) }}\""
  end
end

# What a read answers; nil = there is no such znode.
def asked
  yield
rescue KeeperError::NoNodeException
  nil
end

def data(path)
  asked do
    found = KEEPER.getData(path, false, nil)
    found.nil? ? '' : String.from_java_bytes(found)
  end
end

# The sorted names of a znode's children and the cversion that belongs to them.
def children(path)
  stat = org.apache.zookeeper.data.Stat.new
  names = asked { KEEPER.getChildren(path, false, stat) }
  names.nil? ? nil : [names.map { |name| name.to_s }.sort, stat.getCversion]
end

def names_below(path)
  (children(path) || [[], 0]).first
end

# Lets the server that answers catch up with the leader: a follower may lag behind.
def sync
  answers = java.util.concurrent.LinkedBlockingQueue.new
  KEEPER.sync(ROOT, proc { |code, *_rest| answers.put(code.to_s) }, nil)
  code = answers.take
  abort "walsafe-export: ZooKeeper did not answer a sync (code #{code}); export again" unless code == '0'
end

# One part of znodes, one a line, and their count at the end.
def znodes(step)
  part(step) do |out|
    count = 0
    sync
    yield(lambda do |path, found, cversion|
      count += 1
      out.puts json(:path => path, :data => base64(found), :cversion => cversion)
    end)
    out.puts "#{count} znode(s)"
  end
end

def queues_znode(put)
  found = children(QUEUES)
  put.call(QUEUES, '', found.nil? ? -1 : found.last)
end

# A znode and its children. A WAL that vanishes before its data are read was in the queue all the same.
def queue(put, path)
  wals, cversion = children(path)
  return if wals.nil?

  put.call(path, data(path) || '', cversion)
  wals.each { |wal| put.call("#{path}/#{wal}", data("#{path}/#{wal}") || '', 0) }
end

# The queues of all servers; returns the znodes of the servers.
def queues(put)
  names_below(QUEUES).map { |server| "#{QUEUES}/#{server}" }.select do |path|
    names, cversion = children(path)
    next if names.nil? # claimed meanwhile: the cversion of `rs` shows it

    put.call(path, data(path) || '', cversion)
    names.each { |name| queue(put, "#{path}/#{name}") }
    true
  end
end

# A claim that began meanwhile may have moved a queue that was not read yet: the cversion of its server shows it.
def servers_again(put, paths)
  paths.each do |path|
    found = children(path)
    put.call(path, '', found.last) unless found.nil?
  end
end

def leaves(put, path, levels)
  names_below(path).each do |name|
    below = "#{path}/#{name}"
    next leaves(put, below, levels - 1) if levels > 1

    found = data(below)
    put.call(below, found, 0) unless found.nil?
  end
end

def replication_peer
  org.apache.hadoop.hbase.shaded.protobuf.generated.ReplicationProtos::ReplicationPeer
rescue NameError
  org.apache.hadoop.hbase.protobuf.generated.ZooKeeperProtos::ReplicationPeer
end

# The znode of a peer, with values hidden that look like secrets. Before HBase's message may stand 0xFF, the length of
# the writer's name, and the name.
def without_secrets(data)
  at = data.unpack('C').first == 0xFF ? 5 + data[1, 4].unpack('N').first : 0
  return data unless data[at, 4] == 'PBUF'

  peer = replication_peer.parseFrom(data[(at + 4)..-1].to_java_bytes).toBuilder.clearData
  peer.getConfigurationCount.times do |number|
    pair = peer.getConfiguration(number)
    peer.setConfiguration(number, pair.toBuilder.setValue(HIDDEN).build) if pair.getName =~ TELLING_NAME
  end
  data[0, at + 4] + String.from_java_bytes(peer.build.toByteArray)
end

def peers(put)
  names_below(PEERS).each do |name|
    path = "#{PEERS}/#{name}"
    own = data(path)
    next if own.nil? # removed meanwhile

    put.call(path, without_secrets(own), 0)
    %w[peer-state sync-rep-state tableCFs].each do |child|
      found = data("#{path}/#{child}")
      put.call("#{path}/#{child}", found, 0) unless found.nil?
    end
  end
end

# The region servers that run: each keeps a znode below `<parent>/rs`; nil = there are no such znodes.
def online
  sync
  found = children("#{ROOT}/rs")
  { :servers => found.nil? ? nil : found.first }
end

# Whether backup:system exists, by the states of tables that HBase keeps or mirrors here; nil = unknown.
def backup_table
  return nil unless CONF.getBoolean('hbase.mirror.table.state.to.zookeeper', true)

  sync
  there = lambda { |name| !KEEPER.exists("#{ROOT}/table/#{name}", false).nil? }
  return true if there.call(CONF.get('hbase.backup.system.table.name', 'backup:system'))

  there.call('hbase:namespace') ? false : nil
rescue KeeperError::NoAuthException
  nil
end

def export
  NEEDED.each do |name, known|
    found = CONF.get(name, known.first).strip
    abort "walsafe-export: #{name} is #{found}: no other than #{known.first} is known" unless known.include?(found.downcase)
  end
  id = data("#{ROOT}/hbaseid")
  abort "walsafe-export: ZooKeeper has no #{ROOT}/hbaseid: no HBase keeps its znodes there" if id.nil?

  part('online') { |out| out.puts json(online) }
  znodes('peers') { |put| peers(put) }
  znodes('queues-1') do |put|
    queues_znode(put)
    queues(put)
    queues_znode(put)
  end
  znodes('queues-2') do |put|
    queues_znode(put)
    servers_again(put, queues(put))
    queues_znode(put)
    leaves(put, "#{REPLICATION}/hfile-refs", 2)
    leaves(put, "#{REPLICATION}/regions", 3)
  end
  part('online-2') { |out| out.puts json(online) }
  # what an HBase 3 writes that has taken the peers over, and may have taken queues away
  znodes('peers-2') { |put| peers(put) }
  part('settings') do |out|
    out.puts json(
      site_settings.merge(:queue_storage => 'zookeeper', :replication => REPLICATION, :hbaseid => base64(id),
                          :backup_table => backup_table)
    )
  end
rescue KeeperError => e
  abort "walsafe-export: ZooKeeper: #{e.getMessage}"
ensure
  KEEPER.close
end

export
