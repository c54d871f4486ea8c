# What walsafe-export.rb and walsafe-export-zookeeper.rb have in common. Ruby 1.8, as in the shell of HBase 1.x.
require 'java'

DIRECTORY = ENV.fetch('WALSAFE_EXPORT_DIR')
# the name that the shell's half stamps: one host, in two spellings, would count as two
HOST = ENV.fetch('WALSAFE_EXPORT_HOST') { java.net.InetAddress.getLocalHost.getHostName }
# as in pipelines/capture/secrets.py
TELLING_NAME = /pass|pwd|secret|token|credential|jaas|keytab|fs\.azure\.account|crypto|(?:api|access|private|account|encryption|shared)[._-]?key|(?:^|[._-])key$/i
HIDDEN = '(hidden)'

CONF = org.apache.hadoop.hbase.HBaseConfiguration.create
ROOT = CONF.get('zookeeper.znode.parent', '/hbase').chomp('/')
REPLICATION = "#{ROOT}/#{CONF.get('zookeeper.znode.replication', 'replication')}"

def now
  time = Time.now.utc
  time.strftime('%Y-%m-%dT%H:%M:%S.') + format('%03dZ', time.usec / 1000)
end

# One part: what the block prints between two stamps.
def part(step)
  File.open(File.join(DIRECTORY, "#{step}.txt"), 'w') do |out|
    out.puts "# walsafe-export 1 #{step} started #{now} host #{HOST} zone UTC"
    yield out
    out.puts "# walsafe-export end #{step} finished #{now} status 0"
  end
end

def base64(text)
  [text].pack('m').delete("\n")
end

def setting(name, default)
  CONF.getLong(name, default)
end

# What hbase-site.xml says of the clean-up of WALs.
def site_settings
  { :retention => {
      :wal_ttl_ms => setting('hbase.master.logcleaner.ttl', 600_000),
      :procedure_wal_ttl_ms => setting('hbase.master.procedurewalcleaner.ttl', 604_800_000),
      :master_local_wal_ttl_ms => setting('hbase.master.local.store.walcleaner.ttl', 604_800_000)
    },
    :log_cleaner_plugins => CONF.get('hbase.master.logcleaner.plugins', ''),
    :backup_enabled => CONF.getBoolean('hbase.backup.enable', false),
    :backup_stated => !CONF.get('hbase.backup.enable').nil? }
end

# A session with the ZooKeeper of HBase; the caller closes it. It is connected, if a member answers within 30 s: what is
# asked before fails as soon as the member that the client tries first does not answer.
def zookeeper
  port = CONF.get('hbase.zookeeper.property.clientPort', '2181')
  hosts = CONF.get('hbase.zookeeper.quorum', 'localhost').split(',').map { |host| host.strip }
  quorum = hosts.map { |host| host.include?(':') ? host : "#{host}:#{port}" }.join(',')
  connected = java.util.concurrent.CountDownLatch.new(1)
  watcher = proc { |event, *_rest| connected.countDown if event.getState.to_s == 'SyncConnected' }
  keeper = org.apache.zookeeper.ZooKeeper.new(quorum, 30_000, watcher)
  connected.await(30, java.util.concurrent.TimeUnit::SECONDS)
  keeper
end
