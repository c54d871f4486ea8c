package walsafe.cluster;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.ArrayBackedTag;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.Tag;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionInfoBuilder;
import org.apache.hadoop.hbase.regionserver.wal.WALHeaderEOFException;
import org.apache.hadoop.hbase.replication.ChainWALEntryFilter;
import org.apache.hadoop.hbase.replication.NamespaceTableCfWALEntryFilter;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfig;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfigBuilder;
import org.apache.hadoop.hbase.replication.ReplicationPeerImpl;
import org.apache.hadoop.hbase.replication.ScopeWALEntryFilter;
import org.apache.hadoop.hbase.replication.SyncReplicationState;
import org.apache.hadoop.hbase.replication.SystemTableWALEntryFilter;
import org.apache.hadoop.hbase.replication.WALEntryFilter;
import org.apache.hadoop.hbase.shaded.protobuf.ProtobufUtil;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.wal.WAL;
import org.apache.hadoop.hbase.wal.WALEdit;
import org.apache.hadoop.hbase.wal.WALFactory;
import org.apache.hadoop.hbase.wal.WALKeyImpl;
import org.apache.hadoop.hbase.wal.WALPrettyPrinter;
import org.apache.hadoop.hbase.wal.WALProvider;
import org.apache.hadoop.hbase.wal.WALTailingReader;
import org.apache.hbase.thirdparty.com.google.protobuf.UnsafeByteOperations;

/** WALs as HBase's own writer writes them, as replication's own reader reads them, as its own filters sort them out. */
public final class Wals {
  private static final String[] TABLES = { "t", "u", "ns:v", "hbase:acl", "hbase:meta", "hbase:labels" };
  private static final String[] FAMILIES = { "f", "g", "h" };

  private final Configuration conf;

  public Wals(Harness cluster) {
    this.conf = cluster.conf();
  }

  /** Writes a WAL of random entries of every kind; the properties choose compression. */
  public void write(String path, Map<String, String> properties, int entries, long seed) throws IOException {
    Configuration own = new Configuration(conf);
    properties.forEach(own::set);
    Path file = new Path(path);
    Random random = new Random(seed);
    try (WALProvider.Writer writer = WALFactory.createWALWriter(file.getFileSystem(own), file, own)) {
      for (int number = 0; number < entries; number++) {
        writer.append(entry(random, number));
      }
    }
  }

  private static WAL.Entry entry(Random random, int number) {
    TableName table = TableName.valueOf(TABLES[random.nextInt(TABLES.length)]);
    NavigableMap<byte[], Integer> scopes = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    for (String family : FAMILIES) {
      if (random.nextInt(3) > 0) {
        scopes.put(Bytes.toBytes(family), random.nextInt(2));
      }
    }
    List<UUID> clusters = random.nextInt(4) == 0 ? List.of(new UUID(7, number)) : List.of();
    WALKeyImpl key = new WALKeyImpl(Bytes.toBytes("region" + random.nextInt(40)), table, number + 1L,
      1_700_000_000_000L + number, clusters, 3, number, null, random.nextInt(6) == 0 ? null : scopes);
    if (random.nextInt(5) == 0) {
      key.addExtendedAttribute("source", Bytes.toBytes("value" + random.nextInt(9)));
    }
    WALEdit edit = new WALEdit();
    int kind = random.nextInt(12);
    if (kind == 0) {
      RegionInfo region = RegionInfoBuilder.newBuilder(table).build();
      Map<byte[], List<Path>> files = new TreeMap<>(Bytes.BYTES_COMPARATOR);
      Map<String, Long> sizes = new HashMap<>();
      int always = random.nextInt(FAMILIES.length);
      for (String family : FAMILIES) {
        if (family.equals(FAMILIES[always]) || random.nextBoolean()) {
          files.put(Bytes.toBytes(family), List.of(new Path("hfile" + number)));
          sizes.put("hfile" + number, 5L);
        }
      }
      edit = WALEdit.createBulkLoadEvent(region, ProtobufUtil.toBulkLoadDescriptor(table,
        UnsafeByteOperations.unsafeWrap(region.getEncodedNameAsBytes()),
        files, sizes, number));
    } else if (kind == 1) {
      edit.add(new KeyValue(Bytes.toBytes("METAROW"), WALEdit.METAFAMILY,
        random.nextBoolean() ? WALEdit.REPLICATION_MARKER : WALEdit.FLUSH, 5, new byte[random.nextInt(40)]));
    } else {
      for (int cell = random.nextInt(kind == 2 ? 60 : 5); cell > 0; cell--) {
        edit.add(cell(random));
      }
    }
    return new WAL.Entry(key, edit);
  }

  private static KeyValue cell(Random random) {
    byte[] row = Bytes.toBytes("row" + random.nextInt(random.nextInt(8) == 0 ? 1_000_000 : 300));
    byte[] family = Bytes.toBytes(FAMILIES[random.nextInt(FAMILIES.length)]);
    byte[] qualifier = Bytes.toBytes(random.nextInt(6) == 0 ? "" : "q" + random.nextInt(200));
    byte[] value = new byte[random.nextInt(random.nextInt(200) == 0 ? 100_000 : 60)];
    Arrays.fill(value, (byte) random.nextInt());
    KeyValue.Type type = random.nextInt(5) == 0 ? KeyValue.Type.DeleteColumn : KeyValue.Type.Put;
    List<Tag> tags = new ArrayList<>();
    for (int tag = random.nextInt(4) == 0 ? random.nextInt(3) : 0; tag > 0; tag--) {
      tags.add(new ArrayBackedTag((byte) 70, Bytes.toBytes("tag" + random.nextInt(9))));
    }
    return new KeyValue(row, family, qualifier, 1_000 + random.nextInt(1_000), type, value, tags);
  }

  /**
   * What replication's reader finds: a line for each entry, then one for the state in which it ends, or for the
   * exception with which the file does not open.
   *
   * @param from where to begin; -1 is the first entry
   * @param peer whose filters are asked; empty = none
   */
  public List<String> read(String path, long from, String peer, boolean cells) throws IOException {
    Path file = new Path(path);
    List<String> lines = new ArrayList<>();
    WALEntryFilter filter = peer.isEmpty() ? null : filter(peer);
    try (WALTailingReader reader = WALFactory.createTailingReader(file.getFileSystem(conf), file, conf, from)) {
      while (true) {
        WALTailingReader.Result result = reader.next(-1);
        if (result.getState() != WALTailingReader.State.NORMAL) {
          lines.add("end\t" + result.getState());
          return lines;
        }
        lines.add("entry\t" + result.getEntryEndPos() + "\t" + text(result.getEntry(), cells) + "\t"
          + (filter == null ? "" : isSent(filter, result.getEntry())));
      }
    } catch (WALHeaderEOFException e) {
      lines.add("end\tNO_HEADER");
    } catch (IOException e) {
      lines.add("end\t" + e.getClass().getSimpleName());
    }
    return lines;
  }

  /** `ReplicationSourceWALReader.filterEntry`, and what it does with an edit that has no cell left. */
  private static boolean isSent(WALEntryFilter filter, WAL.Entry entry) {
    if (WALEdit.isReplicationMarkerEdit(entry.getEdit())) {
      return true;
    }
    WAL.Entry filtered = filter.filter(entry);
    return filtered != null && !filtered.getEdit().isEmpty();
  }

  private static String text(WAL.Entry entry, boolean cells) {
    WALKeyImpl key = (WALKeyImpl) entry.getKey();
    List<String> scopes = new ArrayList<>();
    if (key.getReplicationScopes() != null) {
      key.getReplicationScopes().forEach((family, scope) -> scopes.add(Bytes.toString(family) + "=" + scope));
    }
    List<String> shown = new ArrayList<>();
    Base64.Encoder encoder = Base64.getEncoder();
    for (Cell cell : cells ? entry.getEdit().getCells() : List.<Cell>of()) {
      byte[] value = CellUtil.cloneValue(cell);
      CRC32 checksum = new CRC32();
      checksum.update(value);
      shown.add(String.join(",", encoder.encodeToString(CellUtil.cloneRow(cell)),
        encoder.encodeToString(CellUtil.cloneFamily(cell)), encoder.encodeToString(CellUtil.cloneQualifier(cell)),
        Long.toString(cell.getTimestamp()), Byte.toString(cell.getType().getCode()), Integer.toString(value.length),
        Long.toString(checksum.getValue())));
    }
    return String.join("\t", Bytes.toString(key.getEncodedRegionName()), key.getTableName().getNameAsString(),
      Long.toString(key.getSequenceId()), Long.toString(key.getWriteTime()), String.join(",", scopes),
      Integer.toString(entry.getEdit().size()), Integer.toString(key.getClusterIds().size()), String.join(";", shown));
  }

  /** What WALPrettyPrinter prints with `-j -p`; it knows only System.out, where the servers of this JVM log too. */
  public String prettyPrinted(String path) throws IOException, ReflectiveOperationException {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    WALPrettyPrinter printer = new WALPrettyPrinter();
    Field out = WALPrettyPrinter.class.getDeclaredField("out");
    out.setAccessible(true);
    printer.enableJSON();
    printer.enableValues();
    try (PrintStream printed = new PrintStream(text, false, StandardCharsets.UTF_8)) {
      out.set(printer, printed);
      printer.processFile(conf, new Path(path));
    } catch (EOFException e) {
      // so it ends with every WAL that has no trailer, behind its last entry
    }
    return text.toString(StandardCharsets.UTF_8);
  }

  /** How many entries and which end replication's reader finds in each beginning of a file: `entries TAB state`. */
  public List<String> truncations(String path, String scratch) throws IOException {
    Path whole = new Path(path);
    FileSystem fs = whole.getFileSystem(conf);
    byte[] content = new byte[(int) fs.getFileStatus(whole).getLen()];
    try (FSDataInputStream in = fs.open(whole)) {
      in.readFully(content);
    }
    Path cut = new Path(scratch);
    List<String> answers = new ArrayList<>();
    for (int kept = 0; kept <= content.length; kept++) {
      try (FSDataOutputStream out = cut.getFileSystem(conf).create(cut, true)) {
        out.write(content, 0, kept);
      }
      List<String> lines = read(scratch, -1, "", false);
      answers.add((lines.size() - 1) + "\t" + lines.get(lines.size() - 1).substring(4));
    }
    return answers;
  }

  private WALEntryFilter filter(String peer) throws IOException {
    try (Connection connection = ConnectionFactory.createConnection(conf); Admin admin = connection.getAdmin()) {
      ReplicationPeerConfig config = admin.getReplicationPeerConfig(peer);
      return new ChainWALEntryFilter(new SystemTableWALEntryFilter(), new ScopeWALEntryFilter(),
        new NamespaceTableCfWALEntryFilter(new ReplicationPeerImpl(conf, peer, config, true, SyncReplicationState.NONE,
          SyncReplicationState.NONE)));
    }
  }

  /** Gives a peer its tables; families by table, no family = all of them. */
  public void setRule(String peer, boolean replicateAll, List<String> namespaces, Map<String, List<String>> tables)
    throws IOException {
    Map<TableName, List<String>> families = new HashMap<>();
    tables.forEach((table, names) -> families.put(TableName.valueOf(table), names.isEmpty() ? null : List.copyOf(names)));
    try (Connection connection = ConnectionFactory.createConnection(conf); Admin admin = connection.getAdmin()) {
      ReplicationPeerConfigBuilder builder = ReplicationPeerConfig.newBuilder(admin.getReplicationPeerConfig(peer))
        .setReplicateAllUserTables(replicateAll);
      if (replicateAll) {
        builder.setExcludeNamespaces(new HashSet<>(namespaces)).setExcludeTableCFsMap(families);
      } else {
        builder.setNamespaces(new HashSet<>(namespaces)).setTableCFsMap(families);
      }
      admin.updateReplicationPeerConfig(peer, builder.build());
    }
  }
}
