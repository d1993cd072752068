//! Stores of earlier schemas, made from one of the present schema by undoing its migrations.

use rusqlite::Connection;

/// By the schema that a migration leads to: what undoes it.
const UNDO: &[(u32, &str)] = &[
    (13, "DROP TABLE due"),
    (
        14,
        "DROP TABLE worker_loss; DROP INDEX task_held_suspect;
          ALTER TABLE task DROP COLUMN blames; ALTER TABLE task DROP COLUMN suspicion",
    ),
    (15, "DROP TABLE tombstone; DROP TABLE tombstones; ALTER TABLE task DROP COLUMN id_is_chosen"),
    (16, "DROP INDEX queue_configured"),
    (17, "ALTER TABLE stranger DROP COLUMN ready_at"),
    (18, "DROP TABLE schedule"),
    (19, "DROP TABLE dependency; DROP TABLE dependent; DROP TABLE signal_due; ALTER TABLE task DROP COLUMN linked"),
    (
        20,
        "DROP TABLE board; DROP TABLE board_task; DROP TABLE board_label; DROP TABLE board_group; DROP TABLE board_mark",
    ),
    (21, "ALTER TABLE dependent DROP COLUMN aborted_by; ALTER TABLE dependent DROP COLUMN aborted_end"),
    (22, "DROP TABLE workflow; DROP TABLE workflow_definition"),
    (
        23,
        "DROP TABLE signal_due;
          CREATE TABLE signal_due (number INTEGER PRIMARY KEY, predecessor INTEGER NOT NULL, id TEXT NOT NULL,
            before INTEGER NOT NULL, status INTEGER NOT NULL CHECK (status BETWEEN 4 AND 9)) STRICT",
    ),
    (24, "DROP TABLE parent; DROP TABLE held_result"),
    (25, "DROP TABLE external_signal"),
    (26, "DROP TABLE kept_signal"),
    (27, "ALTER TABLE task DROP COLUMN labels"),
    (
        28,
        "UPDATE task SET metadata = json_extract(metadata, '$.labels');
          ALTER TABLE task RENAME COLUMN metadata TO labels",
    ),
    (29, "DROP INDEX signal_due_predecessor; ALTER TABLE signal_due DROP COLUMN from_since"),
    (
        30,
        "DROP INDEX task_held_suspect; UPDATE task SET suspicion = min(losses, 3);
          ALTER TABLE task DROP COLUMN losses; ALTER TABLE task DROP COLUMN ran_s;
          CREATE INDEX task_held_suspect ON task (worker) WHERE status = 3 AND suspicion > 0",
    ),
    (31, "DROP TABLE link_due"),
    (32, "ALTER TABLE dependent DROP COLUMN spontaneous"),
    (33, "DROP TABLE access_key"),
    (34, "DROP TABLE session"),
    (35, "DROP TABLE logged_change"),
    (36, "DROP TABLE history; DROP TABLE history_time"),
    (
        37,
        "DROP TABLE history_slot;
          CREATE TABLE history (queue INTEGER NOT NULL, grain INTEGER NOT NULL, number INTEGER NOT NULL,
            accepted INTEGER NOT NULL, started INTEGER NOT NULL, completed INTEGER NOT NULL, failed INTEGER NOT NULL,
            other INTEGER NOT NULL, retried INTEGER NOT NULL, PRIMARY KEY (queue, grain, number)) STRICT, WITHOUT ROWID;
          CREATE TABLE history_time (queue INTEGER NOT NULL, number INTEGER NOT NULL, what INTEGER NOT NULL,
            bucket INTEGER NOT NULL, tasks INTEGER NOT NULL, PRIMARY KEY (queue, number, what, bucket)) STRICT, WITHOUT ROWID",
    ),
    (
        38,
        "DROP VIEW tally;
          CREATE TABLE tally (queue INTEGER NOT NULL REFERENCES queue (key) ON DELETE CASCADE,
            status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 9), tasks INTEGER NOT NULL CHECK (tasks >= 0),
            PRIMARY KEY (queue, status)) STRICT, WITHOUT ROWID;
          INSERT INTO tally SELECT queue, what, number FROM queue_number WHERE what < 10; DROP TABLE queue_number",
    ),
];

/// Takes a store that no program has open back to a schema.
pub(crate) fn take_back_to(schema: u32, store: &Connection) {
    for (_, statements) in UNDO.iter().rev().filter(|(made, _)| *made > schema) {
        store.execute_batch(statements).unwrap();
    }
    store.pragma_update(None, "user_version", schema).unwrap();
}
