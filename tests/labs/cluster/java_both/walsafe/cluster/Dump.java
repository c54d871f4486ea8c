package walsafe.cluster;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.replication.regionserver.DumpReplicationQueues;
import org.apache.hadoop.util.ToolRunner;

/** HBase's own DumpReplicationQueues, and what it writes to standard output. */
public final class Dump {
  private final Harness harness;

  public Dump(Harness harness) {
    this.harness = harness;
  }

  /** Its text; IOException with its code when that is not 0. */
  public String text(List<String> options) throws Exception {
    Configuration conf = new Configuration(harness.conf());
    conf.set("fs.defaultFS", conf.get("hbase.wal.dir"));
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    PrintStream before = System.out;
    System.setOut(new PrintStream(text, true, StandardCharsets.UTF_8.name()));
    int code;
    try {
      code = ToolRunner.run(conf, new DumpReplicationQueues(), options.toArray(new String[0]));
    } finally {
      System.setOut(before);
    }
    if (code != 0) {
      throw new IOException("DumpReplicationQueues ended with " + code);
    }
    return new String(text.toByteArray(), StandardCharsets.UTF_8);
  }

  /** Its text while no family of any table is replicated. */
  public String textWithoutScopes(List<String> options) throws Exception {
    try (Connection connection = ConnectionFactory.createConnection(harness.conf());
      Admin admin = connection.getAdmin()) {
      List<TableDescriptor> replicated = new ArrayList<>();
      for (TableDescriptor table : admin.listTableDescriptors()) {
        if (table.hasGlobalReplicationScope()) {
          replicated.add(table);
        }
      }
      try {
        for (TableDescriptor table : replicated) {
          TableDescriptorBuilder local = TableDescriptorBuilder.newBuilder(table);
          for (ColumnFamilyDescriptor family : table.getColumnFamilies()) {
            local.modifyColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(family).setScope(0).build());
          }
          admin.modifyTable(local.build());
        }
        return text(options);
      } finally {
        for (TableDescriptor table : replicated) {
          admin.modifyTable(table);
        }
      }
    }
  }
}
