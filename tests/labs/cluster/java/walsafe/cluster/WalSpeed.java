package walsafe.cluster;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.wal.WAL;
import org.apache.hadoop.hbase.wal.WALEdit;
import org.apache.hadoop.hbase.wal.WALFactory;
import org.apache.hadoop.hbase.wal.WALKeyImpl;
import org.apache.hadoop.hbase.wal.WALPrettyPrinter;
import org.apache.hadoop.hbase.wal.WALProvider;
import org.apache.hadoop.hbase.wal.WALStreamReader;

/** How fast HBase reads a WAL: its reader alone, and WALPrettyPrinter with its text thrown away. */
public final class WalSpeed {
  private WalSpeed() {
  }

  /** Writes a WAL of puts of one size until it has so many bytes of values. */
  public static void write(Configuration conf, String path, Map<String, String> properties, long bytes, int cells,
    int length) throws IOException {
    Configuration own = new Configuration(conf);
    properties.forEach(own::set);
    Path file = new Path(path);
    Random random = new Random(1);
    NavigableMap<byte[], Integer> scopes = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    scopes.put(Bytes.toBytes("f"), 1);
    byte[] value = new byte[length];
    try (WALProvider.Writer writer = WALFactory.createWALWriter(file.getFileSystem(own), file, own)) {
      for (long number = 0; number * cells * length < bytes; number++) {
        WALEdit edit = new WALEdit();
        byte[] row = Bytes.toBytes("row" + random.nextInt(1_000_000));
        for (int cell = 0; cell < cells; cell++) {
          random.nextBytes(value);
          edit.add(new KeyValue(row, Bytes.toBytes("f"), Bytes.toBytes("qualifier" + cell), number, value.clone()));
        }
        writer.append(new WAL.Entry(new WALKeyImpl(Bytes.toBytes("6b2c8f8555335cc9af74455b94516cbe"),
          TableName.valueOf("table"), number + 1, 1_700_000_000_000L, List.of(), 0, 0, null, scopes), edit));
      }
    }
  }

  public static long readNanos(Configuration conf, String path) throws IOException {
    Path file = new Path(path);
    long begin = System.nanoTime();
    try (WALStreamReader reader = WALFactory.createStreamReader(file.getFileSystem(conf), file, conf)) {
      WAL.Entry entry = new WAL.Entry();
      while (entry != null) {
        entry = reader.next(entry);
      }
    }
    return System.nanoTime() - begin;
  }

  public static long prettyNanos(Configuration conf, String path) throws IOException {
    PrintStream before = System.out;
    long begin = System.nanoTime();
    try {
      System.setOut(new PrintStream(OutputStream.nullOutputStream()));
      new WALPrettyPrinter().processFile(conf, new Path(path));
    } finally {
      System.setOut(before);
    }
    return System.nanoTime() - begin;
  }
}
