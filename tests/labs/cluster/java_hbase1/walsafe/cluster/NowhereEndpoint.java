package walsafe.cluster;

import java.util.UUID;
import org.apache.hadoop.hbase.replication.BaseReplicationEndpoint;

/** A peer that takes everything at once, as that of HBase 2 and 3. */
public final class NowhereEndpoint extends BaseReplicationEndpoint {
  private static final UUID CLUSTER = UUID.fromString("00000000-0000-0000-0000-000000000001");

  @Override
  public UUID getPeerUUID() {
    return CLUSTER;
  }

  @Override
  public boolean replicate(ReplicateContext context) {
    return true;
  }

  @Override
  protected void doStart() {
    notifyStarted();
  }

  @Override
  protected void doStop() {
    notifyStopped();
  }
}
