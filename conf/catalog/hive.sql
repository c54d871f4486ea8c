-- Generated from schemas/ by `python -m scripts.generate_tables`. ${lake} is the folder of the tables: docs/catalogs.md.
CREATE DATABASE IF NOT EXISTS walsafe;
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.runs (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `job` string COMMENT 'Name of the job, as typed in the command: reconcile …',
  `attempt` string COMMENT 'Random id that ties a STARTED row to its terminal row.',
  `status` string COMMENT 'STARTED, DONE, REFUSED or FAILED.',
  `mode` string COMMENT 'NIGHTLY, or REPLAY past not_after: tables, but no list.',
  `at` timestamp COMMENT 'When the row was written (UTC).',
  `reason` string COMMENT 'Why the run was refused or failed, and what to do about it.',
  `exit_code` int COMMENT 'This cluster\'s own exit code\; NULL while STARTED, and after an error that walsafe does not know.',
  `files_started_at` timestamp COMMENT 'Start of the capture\'s step `files`\; ages count from it.',
  `not_after` timestamp COMMENT 'After this no list is emitted and no list may be acted on.',
  `snapshot_uri` string COMMENT 'Path from which the snapshot was read.',
  `snapshot_sha256` string COMMENT 'SHA-256 of snapshot.json.',
  `config_sha256` string COMMENT 'SHA-256 of the effective configuration without its secrets.',
  `walsafe_version` string COMMENT 'Version of walsafe that decided.',
  `spark_app_id` string COMMENT 'Spark application id.',
  `run_by` string COMMENT 'User who ran the job.',
  `quiet` boolean COMMENT 'Whether no server left and no queue moved during the capture.',
  `accepted` array<struct<`expectation`:string,`reason`:string>> COMMENT 'Expectations that a person overruled with --accept.',
  `files` bigint COMMENT 'Number of files under oldWALs.',
  `bytes` bigint COMMENT 'Bytes of these files.',
  `deletable_files` bigint COMMENT 'Number of DELETABLE files\; they are on the list if list_uri is set.',
  `deletable_bytes` bigint COMMENT 'Bytes of these files.',
  `list_uri` string COMMENT 'Directory of the delete-safe list\; NULL = there is no list.',
  `peer_ids` array<string> COMMENT 'The replication peers of the snapshot, sorted.',
  `cluster_id` string COMMENT 'The content of hbase.id, as the snapshot has it\; NULL = unknown.',
  `capacity_bytes` bigint COMMENT 'Bytes that oldWALs and the quarantine may take together: `capacity`.',
  `free_bytes` bigint COMMENT 'Bytes of files that the file system could still take, if captured.',
  `valid_for_reason` string COMMENT 'Why its lists are valid for this time: list.valid_for_reason.',
  `seq` int COMMENT '1 in a STARTED row, 2 in a terminal row: ORDER BY at, seq puts the rows of a run in order.',
  `written_at` timestamp COMMENT 'The same as `at`, whose name is a word of SQL.'
)
COMMENT 'One STARTED and one terminal row for each attempt at a run\; a STARTED row alone is a run that died.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/runs';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.wal_verdicts (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `path` string COMMENT 'Path relative to wal_root, as in the snapshot.',
  `server` string COMMENT 'Server that wrote the WAL, host,port,startcode\; NULL = the name contains no server.',
  `wal_group` string COMMENT 'WAL group: the part of the name before the timestamp, still URL-encoded.',
  `wal_timestamp` bigint COMMENT 'Timestamp in the name, ms\; NULL = absent or longer than 64 bits.',
  `length` bigint COMMENT 'Bytes.',
  `modification_time` timestamp COMMENT 'When HBase archived the file (UTC).',
  `verdict` string COMMENT 'DELETABLE or HELD.',
  `reason` string COMMENT 'Reason of the verdict\; see docs/verdicts.md.',
  `hbase_verdict` string COMMENT 'Answer of HBase\'s own ReplicationLogCleaner (HBase 3\'s\; with queues in ZooKeeper, HBase 2\'s): DELETE, KEEP or THROWS.',
  `blocking` array<struct<`peer_id`:string,`owner`:string,`source`:string,`wal`:string,`offset`:bigint>> COMMENT 'Each (peer, queue row) that needs the file\; empty = none needs it.',
  `host` string COMMENT 'Host of `server`, as in the name of the WAL.',
  `eligible_at` timestamp COMMENT 'When a file that only its TTL holds (TOO_YOUNG) becomes deletable (UTC), if queues, peers and servers stay as they are\; NULL = not held, not by its TTL alone, or after the year 2999.',
  `wal_at` timestamp COMMENT '`wal_timestamp` as a time (UTC)\; NULL if it is not in the years 1970 to 9999.'
)
COMMENT 'The verdict on every file under oldWALs, with the reason and all holders of each held file.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/wal_verdicts';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.verdict_totals (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `verdict` string COMMENT 'DELETABLE or HELD.',
  `reason` string COMMENT 'Reason of the verdict\; see docs/verdicts.md.',
  `hbase_verdict` string COMMENT 'HBase\'s own verdict: DELETE, KEEP or THROWS.',
  `files` bigint COMMENT 'Files.',
  `bytes` bigint COMMENT 'Bytes.',
  `oldest_modification_age_ms` bigint COMMENT 'Longest time since archiving, ms.'
)
COMMENT 'Files and bytes under oldWALs by verdict, reason and HBase\'s own verdict\; a few rows each night.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/verdict_totals';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.verdict_changes (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `previous_run_id` string COMMENT 'The run of the night before with which it was compared.',
  `from_verdict` string COMMENT 'Verdict on the night before\; NULL = the file is new.',
  `from_reason` string COMMENT 'Reason on the night before.',
  `to_verdict` string COMMENT 'Verdict on this night\; NULL = the file is gone.',
  `to_reason` string COMMENT 'Reason on this night.',
  `files` bigint COMMENT 'Files.',
  `bytes` bigint COMMENT 'Bytes of these files\; of files that are gone, as on the night before.'
)
COMMENT 'Files under oldWALs whose verdict or reason is another one than on the cluster\'s night before, that are new or that are gone, by old and new verdict\; a few rows each night, none on a first night.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/verdict_changes';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.peers (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `peer_id` string COMMENT 'Peer.',
  `state` string COMMENT 'ENABLED or DISABLED.',
  `state_since` timestamp COMMENT 'Start of step `files` of the first of the consecutive nights with this state (UTC)\; the state changed between this night and the night before it, or before the first night that walsafe knows.',
  `nights` int COMMENT 'Number of consecutive nights with this state, including this night.',
  `previous_state` string COMMENT 'State on the night before\; NULL = the peer was not known then.',
  `cluster_key` string COMMENT 'The peer cluster, as HBase has it.',
  `endpoint` string COMMENT 'Class of the replication endpoint\; NULL = HBase\'s own.',
  `serial` boolean COMMENT 'Whether the peer replicates serially.',
  `replicate_all` boolean COMMENT 'Whether it replicates all tables that are not excluded\; NULL = unknown.',
  `sync_state` string COMMENT 'State of synchronous replication\; NULL or NONE = it has none.'
)
COMMENT 'One row for each replication peer and night: its state, and since which night it has been in it.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/peers';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.queue_offsets (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `peer_id` string COMMENT 'Peer of the queue.',
  `peer_exists` boolean COMMENT 'Whether the peer exists\; the row of a removed peer is an orphan queue.',
  `owner` string COMMENT 'The server that owns the row.',
  `source` string COMMENT 'The server that wrote the WALs\; equals owner in a normal queue.',
  `recovered` boolean COMMENT 'Whether the queue was claimed from another server.',
  `wal_group` string COMMENT 'WAL group, URL-encoded\; NULL for a row without any offset.',
  `wal` string COMMENT 'WAL of the offset, as read (the smaller of two passes).',
  `offset` bigint COMMENT 'Offset in this WAL, bytes, as read\; negative = the WAL is finished.',
  `need_timestamp` bigint COMMENT 'Smallest WAL timestamp still needed, ms\; -1 = all WALs are needed.',
  `pending_files` bigint COMMENT 'Number of files under oldWALs that this queue still needs.',
  `pending_bytes` bigint COMMENT 'Bytes of these files.',
  `live_pending_files` bigint COMMENT 'Number of files under WALs/ that this queue still needs.',
  `live_pending_bytes` bigint COMMENT 'Bytes of these files\; an open file counts with too few bytes.',
  `oldest_pending_timestamp` bigint COMMENT 'Timestamp of the oldest needed WAL, ms.',
  `oldest_pending_age_ms` bigint COMMENT 'Age of this WAL at the start of step `files`, ms.',
  `offset_bytes` bigint COMMENT 'The same as `offset`, whose name is a word of SQL.',
  `needed_from` timestamp COMMENT '`need_timestamp` as a time (UTC)\; NULL if it is not in the years 1970 to 9999.',
  `oldest_pending_at` timestamp COMMENT '`oldest_pending_timestamp` as a time (UTC)\; NULL if it is not in the years 1970 to 9999.'
)
COMMENT 'One row for each queue row and WAL group: the offset, and the files after it that are still to be shipped.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/queue_offsets';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.pinned_bytes (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `level` string COMMENT 'What the row sums up: peer, queue or group\; files of fully dead servers without any queue are summed up at level peer only.',
  `peer_id` string COMMENT 'Peer that holds the files.',
  `peer_state` string COMMENT 'ENABLED or DISABLED.',
  `owner` string COMMENT 'Server whose queue holds the files\; NULL at level peer or for a missing queue.',
  `source` string COMMENT 'Server that wrote the WALs\; NULL at level peer.',
  `wal_group` string COMMENT 'WAL group\; NULL above level group, and for the sum of the groups in which no queue has an offset yet.',
  `exclusive_files` bigint COMMENT 'Files that no other holder holds.',
  `exclusive_bytes` bigint COMMENT 'Bytes of these files.',
  `joint_files` bigint COMMENT 'Files that other holders hold too.',
  `joint_bytes` bigint COMMENT 'Bytes of these files.',
  `freed_files` bigint COMMENT 'Files that become deletable if this holder finishes or is removed.',
  `freed_bytes` bigint COMMENT 'Bytes of these files.',
  `oldest_timestamp` bigint COMMENT 'Timestamp of the oldest held WAL, ms.',
  `oldest_age_ms` bigint COMMENT 'Age of this WAL at the start of step `files`, ms.',
  `remedy` string COMMENT 'What an operator can do about it.',
  `oldest_wal_at` timestamp COMMENT '`oldest_timestamp` as a time (UTC)\; NULL if it is not in the years 1970 to 9999.'
)
COMMENT 'Bytes under oldWALs that each peer, queue and group holds: alone (exclusive), with others (joint), and freed without it.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/pinned_bytes';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.findings (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `key` string COMMENT 'Code and subject, the same every night\; used to acknowledge the finding.',
  `code` string COMMENT 'Kind of finding\; see docs/findings.md.',
  `severity` string COMMENT 'error, warning or info.',
  `subject` string COMMENT 'The queue, peer, server, file or directory that the finding is about.',
  `peer_id` string COMMENT 'Peer that the finding is about, if there is one.',
  `server` string COMMENT 'Server that the finding is about, if there is one.',
  `message` string COMMENT 'One sentence.',
  `evidence` string COMMENT 'The values on which the finding is based, as JSON.',
  `remedy` string COMMENT 'What to do.',
  `files` bigint COMMENT 'Files concerned.',
  `bytes` bigint COMMENT 'Bytes of these files.',
  `first_seen` timestamp COMMENT 'Start of step `files` of the first night with this finding (UTC).',
  `nights` int COMMENT 'Number of consecutive nights with this finding, including this night.',
  `is_new` boolean COMMENT 'Whether the cluster\'s previous run of the job did not have this finding\; for `inspect-wals` and the split jobs, whether no run of the last 40 days had it.',
  `acknowledged` boolean COMMENT 'Whether the configuration acknowledges the finding\; then it never changes the exit code.',
  `acknowledged_reason` string COMMENT 'The reason that the configuration gives.',
  `acknowledged_until` timestamp COMMENT 'Until when the configuration acknowledges it (UTC).',
  `host` string COMMENT 'Host of `server`.'
)
COMMENT 'What an operator should know\; `key` stays the same from night to night.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/findings';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.quality_results (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `expectation` string COMMENT 'Name of the expectation, as given to --accept.',
  `description` string COMMENT 'The statement that the expectation checks.',
  `success` boolean COMMENT 'Whether the data met the expectation.',
  `observed` string COMMENT 'The value that was checked.',
  `unexpected_count` bigint COMMENT 'Number of files that do not meet the expectation.',
  `accepted` boolean COMMENT 'Whether a person overruled it with --accept.',
  `accepted_reason` string COMMENT 'The reason that this person gave.',
  `examples` array<string> COMMENT 'At most 100 paths of files that do not meet the expectation.'
)
COMMENT 'One row for each expectation of the gate, cluster and run.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/quality_results';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.cleanups (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `action` string COMMENT 'CLEAN, RESTORE or PURGE.',
  `attempt` string COMMENT 'Random id of the attempt.',
  `status` string COMMENT 'STARTED, DONE, STOPPED, REFUSED or FAILED.',
  `at` timestamp COMMENT 'When the row was written (UTC).',
  `reason` string COMMENT 'Why the attempt stopped, was refused or failed\; or the reason given with --before-grace.',
  `resumed` boolean COMMENT 'Whether it continued an earlier attempt.',
  `lease` bigint COMMENT 'Number of the lease.',
  `recheck_sha256` string COMMENT 'SHA-256 of the snapshot.json that the second look at the cluster wrote.',
  `list_files` bigint COMMENT 'Files that the attempt was to work on: of CLEAN the delete-safe list, of PURGE what rests in the quarantine, of RESTORE what was asked for.',
  `list_bytes` bigint COMMENT 'Bytes of these files.',
  `done_files` bigint COMMENT 'Files moved, restored, purged or archived by this attempt.',
  `done_bytes` bigint COMMENT 'Bytes of these files.',
  `left_files` bigint COMMENT 'Files left where they were: changed, refused or failed.',
  `gone_files` bigint COMMENT 'Files that were gone already\; who removed them is not known.',
  `exit_code` int COMMENT 'Exit code of the job\; NULL in a STARTED row, and if the job was interrupted or failed unexpectedly.',
  `walsafe_version` string COMMENT 'Version of walsafe that ran.',
  `done_by` string COMMENT 'User who ran the job.',
  `host` string COMMENT 'Host on which the job\'s driver ran.',
  `written_at` timestamp COMMENT 'The same as `at`, whose name is a word of SQL.'
)
COMMENT 'One STARTED and one terminal row for each attempt at clean, restore or purge\; a lone STARTED row is an attempt that died.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/cleanups';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.deletions (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `path` string COMMENT 'Path of the file relative to wal_root, as in the snapshot.',
  `action` string COMMENT 'CLEAN, RESTORE or PURGE.',
  `phase` string COMMENT 'INTENT or OUTCOME.',
  `outcome` string COMMENT 'MOVED, ALREADY_GONE, CHANGED, REFUSED, FAILED, RESTORED, PURGED or ARCHIVED\; NULL in an INTENT row.',
  `reason` string COMMENT 'The reason of the verdict at the second look, or why the file was left.',
  `length` bigint COMMENT 'Bytes.',
  `modification_time` timestamp COMMENT 'Modification time of the file (UTC)\; a rename keeps it.',
  `place` string COMMENT 'URI of the file in the quarantine once it is there, and in CLEAN\'s INTENT rows\; for ARCHIVED and in PURGE\'s INTENT rows, in the archive.',
  `attempt` string COMMENT 'Id of the attempt\; joins the row with its rows in `cleanups`.',
  `lease` bigint COMMENT 'Number of the lease that the job held\; it rises with every job.',
  `batch` int COMMENT 'Number of the batch within the attempt.',
  `at` timestamp COMMENT 'When the row was written (UTC).',
  `done_by` string COMMENT 'User who ran the job.',
  `host` string COMMENT 'Host on which the job\'s driver ran.',
  `error` string COMMENT 'The error message of the file system.',
  `written_at` timestamp COMMENT 'The same as `at`, whose name is a word of SQL.'
)
COMMENT 'Every file that clean, restore or purge touched or left, with an INTENT row before and an OUTCOME row after. An INTENT row without its OUTCOME row belongs to a job that died\; the next job settles it.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/deletions';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.wal_files (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `path` string COMMENT 'Path below the WAL root, as in the snapshot.',
  `server` string COMMENT 'The server that wrote the WAL\; NULL = its name contains no server.',
  `wal_group` string COMMENT 'WAL group, URL-encoded.',
  `wal_timestamp` bigint COMMENT 'Timestamp in the WAL\'s name, ms.',
  `length` bigint COMMENT 'Length in the listing, bytes\; too small while the file is open.',
  `read_length` bigint COMMENT 'Length as read, bytes\; NULL unless the file was read to its end.',
  `ending` string COMMENT 'CLOSED (with its trailer), OPEN (after an entry), TORN (inside an entry), NO_HEADER, CORRUPT, ENCRYPTED, FOREIGN (another codec), GONE, UNREADABLE.',
  `problem` string COMMENT 'What is wrong with the file, in words\; NULL = nothing.',
  `writer` string COMMENT 'Writer class, from the header.',
  `compressed` boolean COMMENT 'Whether names are in dictionaries (WAL compression).',
  `value_compression` string COMMENT 'Compression of the values\; NULL = not compressed.',
  `entries` bigint COMMENT 'Whole entries.',
  `cells` bigint COMMENT 'Their cells.',
  `entry_bytes` bigint COMMENT 'Bytes of the file that the entries take.',
  `good_end` bigint COMMENT 'Offset after the last whole entry.',
  `first_sequence_id` bigint COMMENT 'Sequence id of the first entry\; each region counts its own.',
  `last_sequence_id` bigint COMMENT 'Sequence id of the last entry.',
  `first_write_time` timestamp COMMENT 'Write time of the first entry (UTC)\; NULL also if it is not in 1970 to 2999.',
  `last_write_time` timestamp COMMENT 'Write time of the last entry (UTC)\; NULL also if it is not in 1970 to 2999.',
  `host` string COMMENT 'Host of `server`.',
  `wal_at` timestamp COMMENT '`wal_timestamp` as a time (UTC)\; NULL if it is not in the years 1970 to 9999.'
)
COMMENT 'One row for each WAL that `inspect-wals` was asked to read\; run ids of inspections end in `-wals`.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/wal_files';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.wal_tables (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `path` string COMMENT 'Path below the WAL root, as in the snapshot.',
  `table` string COMMENT '`namespace:table` without the default namespace, as WALs write it.',
  `entries` bigint COMMENT 'Whole entries.',
  `cells` bigint COMMENT 'Their cells.',
  `bytes` bigint COMMENT 'Bytes of the file that the table\'s entries take.',
  `global_entries` bigint COMMENT 'Number of entries with a cell of replication scope 1, which a peer may need.',
  `global_bytes` bigint COMMENT 'Bytes of the file that these entries take.',
  `table_name` string COMMENT 'The same as `table`, whose name is a word of SQL.'
)
COMMENT 'One row for each WAL that `inspect-wals` read and each table with edits in it.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/wal_tables';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.queue_edits (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `peer_id` string COMMENT 'Peer of the queue.',
  `peer_state` string COMMENT 'ENABLED or DISABLED\; NULL for a removed peer.',
  `peer_exists` boolean COMMENT 'Whether the peer exists\; a removed peer needs nothing.',
  `rule_known` boolean COMMENT 'Whether the snapshot says which edits the peer takes\; if not, every edit of scope 1 counts as wanted, and with an endpoint other than HBase\'s usual one, every edit.',
  `owner` string COMMENT 'The server that owns the row.',
  `source` string COMMENT 'The server that wrote the WALs\; equals owner in a normal queue.',
  `wal_group` string COMMENT 'WAL group, URL-encoded.',
  `wal` string COMMENT 'WAL of the offset (the smaller of two passes)\; NULL without an offset.',
  `offset` bigint COMMENT 'Offset in this WAL, bytes, as read\; negative = the WAL is finished.',
  `offset_status` string COMMENT 'OK, AT_END, FINISHED, MID_ENTRY, BEYOND_EOF, NO_HEADER, UNREADABLE, GONE, NOT_READ, NONE.',
  `head` string COMMENT 'Path of the first WAL that the queue still has to read\; NULL = it is not among the files that were read.',
  `head_ending` string COMMENT '`ending` of this WAL.',
  `pending_files` bigint COMMENT 'Number of files that the queue still has to read.',
  `pending_entries` bigint COMMENT 'Number of entries in these files after the offset.',
  `pending_bytes` bigint COMMENT 'Bytes that these take.',
  `wanted_entries` bigint COMMENT 'Number of pending entries of which the peer is sent at least one cell.',
  `wanted_bytes` bigint COMMENT 'Bytes that these take.',
  `foreign_entries` bigint COMMENT 'Number of wanted entries that came from other clusters\; HBase does not send a peer its own edits back.',
  `unread_files` bigint COMMENT 'Pending files that could not be read, or not to their end.',
  `unread_bytes` bigint COMMENT 'Bytes of unknown content that the queue still has to read\; the whole length of a file that could not be opened.',
  `offset_bytes` bigint COMMENT 'The same as `offset`, whose name is a word of SQL.'
)
COMMENT 'One row for each queue row and WAL group in the files that `inspect-wals` read: its offset and its pending edits.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/queue_edits';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.queue_audits (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `queue` string COMMENT 'Row key in `hbase:replication`\; in ZooKeeper `<owner>/<queue id>`, below `rs`.',
  `queue_class` string COMMENT 'Class of the queue, here the most urgent first: UNDELETED_PEER, LOST_WALS, MISSING_WAL, SUSPECT, DUPLICATE, STALE_LOCK, CLAIM_LOCK, ORPHAN, IN_FAILOVER, UNPROVEN, EMPTY_REPLICATOR, FINISHED, RECOVERED, NORMAL.',
  `also` array<string> COMMENT 'Other classes that also apply.',
  `storage` string COMMENT 'table or zookeeper.',
  `peer_id` string COMMENT 'Peer of the queue\; NULL for a znode that is not a queue.',
  `peer_state` string COMMENT 'ENABLED or DISABLED\; NULL for a removed peer.',
  `owner` string COMMENT 'The server that owns the row or znode.',
  `owner_state` string COMMENT 'ONLINE, CRASHING, DIRECTORY, RECENT, DEAD, UNKNOWN.',
  `source` string COMMENT 'The server that wrote the WALs\; equals owner in a normal queue.',
  `hops` array<string> COMMENT 'Dead servers that owned the queue before, the first owner first\; the table names only this one.',
  `pending_files` bigint COMMENT 'Number of files under oldWALs that the queue still has to read.',
  `pending_bytes` bigint COMMENT 'Bytes of these files, which the queue pins alone or with other queues.',
  `live_pending_files` bigint COMMENT 'Number of files under WALs/ that the queue still has to read.',
  `live_pending_bytes` bigint COMMENT 'Bytes of these files\; an open file counts with too few bytes.',
  `alone_files` bigint COMMENT 'Number of files under oldWALs that only this queue holds.',
  `alone_bytes` bigint COMMENT 'Bytes of these files, which become free once the queue has shipped them.',
  `oldest_pending_timestamp` bigint COMMENT 'Timestamp of the oldest needed WAL, ms.',
  `missing_wals` array<string> COMMENT 'WALs that the queue still has to read and that are in no directory.',
  `evidence` string COMMENT 'Why the queue has this class, in words.',
  `remedy` string COMMENT 'What to do\; NULL = nothing needs to be done.',
  `observed_at` timestamp COMMENT 'Start of step `files` (UTC).',
  `oldest_pending_at` timestamp COMMENT '`oldest_pending_timestamp` as a time (UTC)\; NULL if it is not in the years 1970 to 9999.'
)
COMMENT 'One row for each queue that `audit-queues` saw, and for each lock and empty znode\; its run ids end in `-queues`.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/queue_audits';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.queue_claims (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `peer_id` string COMMENT 'Peer of the queue.',
  `source` string COMMENT 'The server that wrote the WALs.',
  `event` string COMMENT 'CLAIMED (by to_owner), WAITING (for a claim, in the last snapshot), ENDED (the queue is gone).',
  `from_owner` string COMMENT 'The server that had the queue before\; NULL = unknown.',
  `to_owner` string COMMENT 'The server that claimed the queue\; NULL unless CLAIMED.',
  `via` array<string> COMMENT 'Further servers that had the queue in between, in order, seen in no snapshot\; only ZooKeeper shows them.',
  `died_after` timestamp COMMENT 'Last time that from_owner was seen online (UTC)\; NULL = never seen.',
  `died_before` timestamp COMMENT 'First time that from_owner was seen not online any more (UTC).',
  `happened_after` timestamp COMMENT 'Time of the last snapshot before the event\; NULL = it came before the first snapshot.',
  `happened_before` timestamp COMMENT 'Time of the first snapshot after the event.',
  `waited_min_ms` bigint COMMENT 'The least time that the queue waited for its claim, ms.',
  `waited_max_ms` bigint COMMENT 'The longest time that the queue can have waited, ms\; NULL = no bound is known.'
)
COMMENT 'The claims of queues as seen in successive snapshots\; every event happened between two of them.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/queue_claims';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.claim_plans (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `step` bigint COMMENT 'Position of the dead server in the plan\; the server with the oldest pending WAL comes first.',
  `server` string COMMENT 'The dead server whose queues are claimed in this step.',
  `queue` string COMMENT 'The queue, named as in `queue_audits`.',
  `peer_id` string COMMENT 'Peer of the queue.',
  `source` string COMMENT 'The server that wrote the WALs.',
  `pending_files` bigint COMMENT 'Number of files under oldWALs that the claimer has to ship.',
  `pending_bytes` bigint COMMENT 'Bytes of these files.',
  `oldest_pending_timestamp` bigint COMMENT 'Timestamp of the oldest pending file, ms.',
  `target` string COMMENT 'A live server that suits the queue\; HBase itself picks a server at random.',
  `target_bytes` bigint COMMENT 'Bytes that this server has to ship then, including its own queues.',
  `host` string COMMENT 'Host of `server`.',
  `oldest_pending_at` timestamp COMMENT '`oldest_pending_timestamp` as a time (UTC)\; NULL if it is not in the years 1970 to 9999.'
)
COMMENT 'The order in which orphan queues should be claimed, balanced over the live servers\; one row for each queue.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/claim_plans';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.dumped_peers (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `peer_id` string COMMENT 'Its id.',
  `state` string COMMENT 'ENABLED or DISABLED.',
  `cluster_key` string COMMENT 'The cluster to which the peer replicates.',
  `endpoint` string COMMENT 'Class of the peer\'s endpoint\; NULL = HBase\'s own class.',
  `config` string COMMENT 'The peer\'s configuration as `{name=value, …}`, sorted by name\; secrets are hidden.',
  `table_cfs` string COMMENT 'Tables and families that the peer receives, `{t=[f], …}`\; `null` = all families.',
  `namespaces` string COMMENT 'Namespaces that the peer receives as a whole, `[ns, …]`.',
  `rule_known` boolean COMMENT 'Whether the snapshot has the peer\'s tables and namespaces.'
)
COMMENT 'One row for each replication peer of a snapshot that `dump-queues` wrote\; run ids of dumps end in `-queues`.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/dumped_peers';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.dumped_queues (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `queue_id` string COMMENT 'Row key in hbase:replication, or name of the znode below its server.',
  `peer_id` string COMMENT 'Peer of the queue.',
  `peer_state` string COMMENT 'ENABLED or DISABLED\; NULL for a removed peer.',
  `peer_exists` boolean COMMENT 'Whether the peer exists\; if not, HBase calls the queue a deleted queue.',
  `owner` string COMMENT 'The server that has the queue now.',
  `source` string COMMENT 'The server that wrote its WALs\; equals owner in a normal queue.',
  `recovered` boolean COMMENT 'Whether the queue was claimed from a dead server.',
  `dead_servers` array<string> COMMENT 'Former owners, the first owner first\; with queues in the table, only the first one is known.',
  `owner_online` boolean COMMENT 'Whether the owner is alive\; NULL = the snapshot does not show it.',
  `pending_wals` bigint COMMENT 'Number of WALs that the queue still has to read.',
  `pending_bytes` bigint COMMENT 'Bytes of these WALs, as far as they are in the listing.',
  `missing_wals` bigint COMMENT 'Number of these WALs that are not in the listing, without those that may be younger than it.'
)
COMMENT 'One row for each replication queue in the last reading of a snapshot, in the table or in ZooKeeper.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/dumped_queues';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.dumped_wals (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `queue_id` string COMMENT 'The queue\; see `dumped_queues`.',
  `peer_id` string COMMENT 'Peer of the queue.',
  `owner` string COMMENT 'The server that has the queue.',
  `source` string COMMENT 'The server that wrote the WALs of the queue.',
  `wal_group` string COMMENT 'WAL group, URL-encoded.',
  `wal` string COMMENT 'File name.',
  `path` string COMMENT 'Path below the WAL root\; NULL = not in the listing (not looked up if the WAL is finished).',
  `offset` bigint COMMENT 'Recorded offset in this WAL, bytes\; negative = finished\; NULL = no offset is recorded.',
  `pending` boolean COMMENT 'Whether the queue still has to read the WAL.',
  `length` bigint COMMENT 'Length in the listing, bytes\; too small while the file is open.',
  `offset_bytes` bigint COMMENT 'The same as `offset`, whose name is a word of SQL.'
)
COMMENT 'One row for each queue and WAL that the queue still has to read or that one of its offsets names.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/dumped_wals';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.dumped_hfile_refs (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `peer_id` string COMMENT 'The peer.',
  `peer_exists` boolean COMMENT 'Whether the peer exists\; if not, nobody will ever fetch the HFile.',
  `hfile` string COMMENT 'Name of the HFile.'
)
COMMENT 'One row for each peer and bulk-loaded HFile that the peer has not received yet.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/dumped_hfile_refs';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.migration_rows (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `family` string COMMENT 'Column family: queue, sid (last pushed sequence ids) or hfileref.',
  `action` string COMMENT 'WRITE, DROP or BLOCK (HBase would throw on it).',
  `reason` string COMMENT 'Why the cell is dropped or blocks, or a doubt about it\; NULL = neither.',
  `peer_id` string COMMENT 'Peer, as HBase reads it from the queue\'s id.',
  `owner` string COMMENT 'The server whose znode contains the queue.',
  `source` string COMMENT 'The server that wrote the WALs\; equals owner in a normal queue.',
  `znode` string COMMENT 'Path of the znode, below /hbase/replication.',
  `row` string COMMENT 'Row key in hbase:replication\; also for dropped cells.',
  `qualifier` string COMMENT 'WAL group (URL-encoded), encoded region, or HFile\; NULL in the row of a queue.',
  `value` string COMMENT '`<wal>:<position>`, sequence id, or empty\; for BLOCK, the name of the WAL\'s znode.',
  `wals` bigint COMMENT 'Number of WALs of the group in the queue.',
  `bytes` bigint COMMENT 'Bytes of these WALs, as far as they are in the listing.',
  `wal_listed` boolean COMMENT 'Whether the WAL of `value` is below WALs/ or oldWALs/\; null if it may be younger than the listing.'
)
COMMENT 'One row for each cell that the migration would write, drop or throw on, as `plan-migration` found it in ZooKeeper.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/migration_rows';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.migration_checks (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `rule` string COMMENT 'The rule\; see docs/migration.md.',
  `answer` string COMMENT 'SAME, or how the table differs from ZooKeeper.',
  `severity` string COMMENT 'error, warning or info\; NULL = the rule holds.',
  `peer_id` string COMMENT 'Peer that the check is about, if there is one.',
  `subject` string COMMENT 'Row key of hbase:replication, peer, or flag.',
  `qualifier` string COMMENT 'WAL group (URL-encoded), encoded region, or HFile.',
  `expected` string COMMENT 'The value in ZooKeeper: offset, sequence id or state.',
  `found` string COMMENT 'The value in the table\; NULL = the table has none.'
)
COMMENT 'One row for each check of `verify-migration`: a rule, and the cell, peer or flag to which it was applied.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/migration_checks';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.syncup_queues (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `queue` string COMMENT 'Row key in `hbase:replication`: peer-owner or peer-owner/source\; in ZooKeeper: server/znode.',
  `peer_id` string COMMENT 'Peer of the queue.',
  `peer_state` string COMMENT 'ENABLED or DISABLED\; NULL for a removed peer.',
  `owner` string COMMENT 'The server that owns the queue\; the tool of HBase 3 creates a flag file of this name.',
  `source` string COMMENT 'The server that wrote the WALs\; equals owner in a normal queue.',
  `is_placeholder` boolean COMMENT 'Whether no row was flushed and the server has a directory below WALs/, so that the tool reads all its WALs.',
  `action` string COMMENT 'SHIP, WAITS (forever), REMOVED_PEER or STANDBY (nothing is shipped)\; HBase 2 also: MOVES (to the tool\'s own server name\; nothing is shipped) and EMPTY (the queue is deleted).',
  `reason` string COMMENT 'Why the queue waits\; NULL unless WAITS.',
  `wal_groups` bigint COMMENT 'Number of WAL groups with users\' edits that are read.',
  `files` bigint COMMENT 'Number of WALs with users\' edits that are read.',
  `bytes` bigint COMMENT 'Bytes of these WALs, for each group from its offset on.',
  `first_path` string COMMENT 'The first WAL with users\' edits that is read\; NULL = none.',
  `first_start` bigint COMMENT 'Offset at which reading of this WAL begins.',
  `missing_files` bigint COMMENT 'Number of offsets inside a WAL, or of WALs in a queue in ZooKeeper, that no directory has.',
  `is_stale` boolean COMMENT 'Whether the row has changed since it was flushed\; NULL = unknown, false in ZooKeeper.',
  `resent_bytes` bigint COMMENT 'Part of `bytes` that the peer has received already, or from a queue before\; NULL = unknown.'
)
COMMENT 'One row for each queue that ReplicationSyncUp would claim\; written by `plan-syncup`, run ids end in `-syncup`.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/syncup_queues';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.syncup_wals (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `queue` string COMMENT 'Row key of the queue, as in `syncup_queues`.',
  `peer_id` string COMMENT 'Peer of the queue.',
  `source` string COMMENT 'The server that wrote the WAL.',
  `wal_group` string COMMENT 'WAL group, URL-encoded\; each group has its own worker.',
  `position` bigint COMMENT 'Position in the queue, from 1\; a MISSING WAL comes before all others, at 0.',
  `wal` string COMMENT 'File name.',
  `path` string COMMENT 'Path below the WAL root\; NULL if MISSING.',
  `content` string COMMENT 'EDITS, QUEUE_TABLE (the tool reads it and sends nothing of it), MISSING, or NOT_READ (the peer is disabled or STANDBY\; HBase 2 also: the tool does not get to it).',
  `length` bigint COMMENT 'Length of the file in the listing, bytes\; too small while the file is open.',
  `start` bigint COMMENT 'Offset of the first byte that is read\; 0 = from the first entry\; NULL if nothing is.',
  `bytes` bigint COMMENT 'Bytes that are read.'
)
COMMENT 'One row for each queue and WAL that ReplicationSyncUp would read for it.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/syncup_wals';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.syncup_peers (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `peer_id` string COMMENT 'Peer.',
  `peer_state` string COMMENT 'ENABLED or DISABLED\; NULL for a removed peer that has rows.',
  `cluster_key` string COMMENT 'Cluster key of the peer\; NULL = unknown.',
  `queues` bigint COMMENT 'Number of queues that are claimed for the peer, including placeholders.',
  `files` bigint COMMENT 'Number of WALs with users\' edits that are read, counted once for each queue.',
  `bytes` bigint COMMENT 'Bytes of these WALs.',
  `resent_bytes` bigint COMMENT 'Part of `bytes` that the peer has received already, or from a queue before\; NULL = unknown.',
  `hfile_refs` bigint COMMENT 'Number of bulk-loaded HFiles that wait for the peer\; the next master of HBase 3 drops those older than the run.',
  `last_sequence_ids` bigint COMMENT 'Number of regions of a serial peer with a last pushed sequence id\; the next master drops them likewise.'
)
COMMENT 'One row for each peer: the data that ReplicationSyncUp would read for it, and its other data in `hbase:replication`.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/syncup_peers';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_verify (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `table_name` string COMMENT 'Name of the Pegasus table, as given to the job.',
  `partition` int COMMENT 'Partition in the copy with more partitions: hash % partitions.',
  `before_rows` bigint COMMENT 'Number of its live rows before, counted where clients look for them.',
  `after_rows` bigint COMMENT 'Number of its live rows after.',
  `before_bytes` bigint COMMENT 'Bytes of the live rows\' keys and values before.',
  `after_bytes` bigint COMMENT 'Bytes of the live rows\' keys and values after.',
  `before_digest` string COMMENT 'Sum and exclusive or of the 64-bit digests of the live rows before, hexadecimal.',
  `after_digest` string COMMENT 'Sum and exclusive or of the 64-bit digests of the live rows after, hexadecimal.',
  `is_equal` boolean COMMENT 'Whether both sides have the same live rows.',
  `before_expired` bigint COMMENT 'Number of expired rows before in their own partition\; not compared.',
  `after_expired` bigint COMMENT 'Number of expired rows after in their own partition\; not compared.',
  `stale_rows` bigint COMMENT 'Number of copies after that a split left in another partition.',
  `stale_bytes` bigint COMMENT 'Bytes of these copies\' keys and values.',
  `foreign_rows` bigint COMMENT 'Number of rows after in partitions to which they never belonged.'
)
COMMENT 'One row for each partition of the copy with more partitions, from the two copies that `split-verify` compared.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_verify';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_diff (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `table_name` string COMMENT 'Name of the Pegasus table, as given to the job.',
  `partition` int COMMENT 'Partition that owns the key in the copy with more partitions\; NULL if the key is malformed.',
  `reason` string COMMENT 'lost, value, expired, stale-newer, stale, foreign, malformed (docs/split-verify).',
  `side` string COMMENT 'before or after: the side on which the row is missing, older or misplaced.',
  `key` string COMMENT 'Raw key with bytes escaped as in Pegasus\'s shell\; its first two bytes are a length.',
  `raw_key` binary COMMENT 'Bytes of the raw key.',
  `key_hash` string COMMENT 'CRC-64/NVME of its hash key, 16 hexadecimal digits.',
  `before_index` int COMMENT 'Partition that stored the row before.',
  `after_index` int COMMENT 'Partition that stores the row after.',
  `before_timetag` bigint COMMENT 'Timetag of the row\'s value before: timestamp µs << 8, cluster, deleted.',
  `after_timetag` bigint COMMENT 'Timetag of the row\'s value after.',
  `stale_timetag` bigint COMMENT 'Timetag of the copy that was left in another partition.',
  `detail` string COMMENT 'What is wrong, in words.'
)
COMMENT 'One row for each difference that `split-verify` found, up to its limit for each reason.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_diff';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_stale (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `table_name` string COMMENT 'Name of the Pegasus table, as given to the job.',
  `partition_index` int COMMENT 'The partition that stores the rows.',
  `fate` string COMMENT 'DROPPED_EXPIRED, DROPPED_STALE, or KEPT_… with the reason (docs/split-stale).',
  `is_dropped` boolean COMMENT 'Whether the filter drops the rows.',
  `is_stale` boolean COMMENT 'Whether the rows belong to another partition, whatever the filter does.',
  `rows` bigint COMMENT 'How many.',
  `bytes` bigint COMMENT 'Bytes of the rows\' keys and values, before compression.'
)
COMMENT 'One row for each partition and fate of its rows in the next compaction, by `split-stale`.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_stale';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_preflight (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `app_id` int COMMENT 'Id of the table.',
  `table` string COMMENT 'Its name.',
  `rule` string COMMENT 'Rule of docs/split-rules.md.',
  `verdict` string COMMENT 'OK, WARNING, BLOCKER or UNKNOWN (the state does not say).',
  `words` string COMMENT 'Why.',
  `table_name` string COMMENT 'The same as `table`, whose name is a word of SQL.'
)
COMMENT 'One row for each table and rule that `split-preflight` checked\; a rule with several objections has several rows.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_preflight';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_partitions (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `observed_at` timestamp COMMENT 'When the state was observed (UTC).',
  `app_id` int COMMENT 'Id of the table.',
  `table` string COMMENT 'Its name.',
  `partition` int COMMENT 'Index of the partition.',
  `partition_count` int COMMENT 'Number of partitions that meta counts.',
  `ballot` bigint COMMENT 'Ballot\; -1 = a child that is not registered.',
  `registered` boolean COMMENT 'Whether meta has the partition.',
  `primary` string COMMENT 'Server of the primary.',
  `secondaries` array<string> COMMENT 'Servers of the secondaries.',
  `split_state` string COMMENT 'Split state of the partition or of its parent, as meta reports it.',
  `table_name` string COMMENT 'The same as `table`, whose name is a word of SQL.',
  `primary_node` string COMMENT 'The same as `primary`, whose name is a word of SQL.'
)
COMMENT 'One row for each partition of a Pegasus table in each state that `split-audit-config` read.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_partitions';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_logs (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `node` string COMMENT 'Replica server, named by the directories between the root and the replica\'s directory.',
  `app_id` int COMMENT 'Id of the table.',
  `partition` int COMMENT 'Index of the partition.',
  `log` string COMMENT 'Name of the file.',
  `log_index` int COMMENT 'Index in the log\'s name\; the logs of a replica have consecutive indexes.',
  `start_offset` bigint COMMENT 'Global offset of the log\'s first byte.',
  `length` bigint COMMENT 'Bytes up to the end of the log\'s last whole block.',
  `ending` string COMMENT 'WHOLE, TORN (ends inside its last block), NO_HEADER, CORRUPT, UNREADABLE.',
  `problem` string COMMENT 'The first problem found in the log\; NULL = none.',
  `bad_blocks` int COMMENT 'Number of blocks with a wrong CRC or an invalid mutation.',
  `mutations` int COMMENT 'Number of mutations that could be read.',
  `min_decree` bigint COMMENT 'Smallest decree.',
  `max_decree` bigint COMMENT 'Largest decree.',
  `min_ballot` bigint COMMENT 'Smallest ballot.',
  `max_ballot` bigint COMMENT 'Largest ballot.',
  `max_decree_before` bigint COMMENT 'Largest decree of earlier logs, according to the log\'s header.',
  `foreign` int COMMENT 'Number of mutations of another partition than the directory\'s.',
  `ballots_back` int COMMENT 'Number of mutations with a lower ballot than an earlier mutation.',
  `undecoded` int COMMENT 'Number of requests that cannot be replayed from the log alone.',
  `verdict` string COMMENT 'DELETABLE or HELD.',
  `reason` string COMMENT 'Reason of the verdict\; see docs/split-audit-log.md.',
  `foreign_mutations` int COMMENT 'The same as `foreign`, whose name is a word of SQL.',
  `valid_offset` bigint COMMENT 'Global offset from which the replica\'s mutations count, according to the log\'s header.'
)
COMMENT 'One row for each private log that `split-audit-log` read, with its verdict.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_logs';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_mutations (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `node` string COMMENT 'Replica server.',
  `app_id` int COMMENT 'Id of the table.',
  `partition` int COMMENT 'Index of the partition whose directory has the log.',
  `log` string COMMENT 'Name of the log.',
  `log_offset` bigint COMMENT 'Global offset of the mutation.',
  `decree` bigint COMMENT 'Decree.',
  `ballot` bigint COMMENT 'Ballot\; if a decree has several mutations, the one with the highest ballot counts.',
  `committed` bigint COMMENT 'Last committed decree of the writer.',
  `at` timestamp COMMENT 'When the primary created the mutation, by its clock (UTC).',
  `codes` array<string> COMMENT 'Task codes of its requests.',
  `hashes` array<bigint> COMMENT 'CRC-64 of the requests\' keys, as signed numbers, each once.',
  `digest` string COMMENT 'Digest of the requests\; equal in parent and child.',
  `empty` boolean COMMENT 'Whether the mutation has only empty writes.',
  `written_at` timestamp COMMENT 'The same as `at`, whose name is a word of SQL.'
)
COMMENT 'One row for each mutation in the private logs that `split-audit-log` read\; no user\'s key or value is in it.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_mutations';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_manifest (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `partition` int COMMENT 'New partition.',
  `parent` int COMMENT 'Old partition that the rows come from.',
  `file` string COMMENT 'Name of the file below the new partition\'s directory.',
  `rows` bigint COMMENT 'Number of rows in the file.',
  `bytes` bigint COMMENT 'Size of the file.',
  `md5` string COMMENT 'MD5 of the file, as in bulk_load_metadata.',
  `raw_bytes` bigint COMMENT 'Bytes of keys and values.'
)
COMMENT 'One row for each file that `split-run` or `split-export` wrote.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_manifest';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_routes (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `stage` string COMMENT 'Stage of docs/split-rules.md.',
  `words` string COMMENT 'What has happened by then.',
  `client` string COMMENT 'old (has cached the table before the split) or new.',
  `code` string COMMENT 'Error code of the answer that the client receives.',
  `requests` bigint COMMENT 'Number of requests that get this answer.'
)
COMMENT 'One row for each stage of a split, kind of client and error code: the what-if of `split-route`.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_routes';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.split_plan (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `parent` int COMMENT 'Partition now.',
  `child` int COMMENT 'Child of the partition after one split.',
  `rows` bigint COMMENT 'Number of rows that the partition owns now.',
  `bytes` bigint COMMENT 'Bytes of the keys and values of these rows.',
  `keep_rows` bigint COMMENT 'Number of rows that would stay.',
  `keep_bytes` bigint COMMENT 'Bytes of these rows.',
  `move_rows` bigint COMMENT 'Number of rows that would go to the child.',
  `move_bytes` bigint COMMENT 'Bytes of these rows.',
  `skew` double COMMENT 'Bytes of the larger half divided by the bytes of an even half: 1 = even, 2 = all rows are in one half.'
)
COMMENT 'One row for each partition that would be split: the rows that it would keep and those that its child would get.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/split_plan';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.remote_wals (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `directory` string COMMENT 'Path of the directory relative to wal_root.',
  `peer_id` string COMMENT 'The peer after which the directory is named.',
  `peer_exists` boolean COMMENT 'Whether this peer exists.',
  `kind` string COMMENT 'REMOTE: written by the ACTIVE cluster\; REPLAY: being replayed here\; SNAPSHOT: kept after a replay.',
  `files` bigint COMMENT 'Number of files in the directory.',
  `bytes` bigint COMMENT 'Bytes of these files.',
  `empty_files` bigint COMMENT 'Number of files of length 0, which were replayed or are being written.',
  `unfinished_files` bigint COMMENT 'Number of files `.syncrep.ren`, for which HBase does not know yet whether all edits arrived.',
  `oldest_modification` timestamp COMMENT 'Oldest modification time of a file that is not empty (UTC).',
  `newest_modification` timestamp COMMENT 'Newest modification time of any file (UTC).'
)
COMMENT 'One row per directory below `remoteWALs/`. No file in these directories is ever listed for deletion.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/remote_wals';
CREATE EXTERNAL TABLE IF NOT EXISTS walsafe.sync_peers (
  `cluster` string COMMENT 'Name of the cluster that the run examined.',
  `run_id` string COMMENT 'The run that wrote the row.',
  `run_date` date COMMENT 'UTC date of what the run examined\; for HBase, of the start of the capture\'s step `files`.',
  `peer_id` string COMMENT 'Peer.',
  `state` string COMMENT 'ENABLED or DISABLED: whether asynchronous replication ships the rest.',
  `sync_state` string COMMENT 'ACTIVE, DOWNGRADE_ACTIVE or STANDBY\; NULL = unknown.',
  `remote_wal_dir` string COMMENT 'Directory to which this cluster writes copies while it is ACTIVE.',
  `previous_sync_state` string COMMENT 'Newest known state of the nights before\; NULL = none is known.',
  `since` timestamp COMMENT 'First of the consecutive nights with this state (UTC)\; a night on which it is unknown counts as one of them.',
  `nights` int COMMENT 'Number of consecutive nights with this state, including this night.'
)
COMMENT 'One row for each peer with synchronous replication.'
STORED BY 'io.delta.hive.DeltaStorageHandler'
LOCATION '${lake}/sync_peers';
