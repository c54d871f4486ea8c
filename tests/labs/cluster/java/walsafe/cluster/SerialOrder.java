package walsafe.cluster;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.replication.regionserver.Replication;
import org.apache.hadoop.hbase.replication.regionserver.ReplicationSource;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.wal.WAL;
import org.apache.hadoop.hbase.wal.WALEdit;
import org.apache.hadoop.hbase.wal.WALKeyImpl;

/** HBase's own judge of the order in which a serial peer is sent the entries of a region. */
public final class SerialOrder {
  private static final String CHECKER = "org.apache.hadoop.hbase.replication.regionserver.SerialReplicationChecker";

  private SerialOrder() {
  }

  /** Whether the peer may be sent an entry with that sequence id, of the region that the row lies in. */
  public static boolean canPush(Harness harness, String peer, String table, String row, long sequenceId)
    throws IOException, ReflectiveOperationException {
    Replication replication = (Replication) harness.someServer().getReplicationSourceService();
    Class<?> type = Class.forName(CHECKER); // it is private to its package
    Constructor<?> made = type.getDeclaredConstructor(Configuration.class, ReplicationSource.class);
    Method canPush = type.getMethod("canPush", WAL.Entry.class, Cell.class);
    made.setAccessible(true);
    canPush.setAccessible(true);
    Object checker = made.newInstance(harness.conf(), replication.getReplicationManager().getSource(peer));
    KeyValue cell = new KeyValue(Bytes.toBytes(row), Bytes.toBytes("f"), Bytes.toBytes("q"), Bytes.toBytes("v"));
    byte[] region = region(harness, table, row).getEncodedNameAsBytes();
    WALKeyImpl key = new WALKeyImpl(region, TableName.valueOf(table), sequenceId, 0, new UUID(0, 0));
    return (boolean) canPush.invoke(checker, new WAL.Entry(key, new WALEdit().add(cell)), cell);
  }

  /** The encoded name of the region that a row lies in. */
  public static String regionOf(Harness harness, String table, String row) throws IOException {
    return region(harness, table, row).getEncodedName();
  }

  private static RegionInfo region(Harness harness, String table, String row) throws IOException {
    try (Connection connection = ConnectionFactory.createConnection(harness.conf())) {
      return connection.getRegionLocator(TableName.valueOf(table)).getRegionLocation(Bytes.toBytes(row), true)
        .getRegion();
    }
  }
}
