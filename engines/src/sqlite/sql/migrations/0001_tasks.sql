-- 0001_tasks: the first schema.
--
-- One row of `task` is all there is to a task: its state, its lease and its membership in a queue can't disagree,
-- because each is a column of it and each queue is a partial index over it. Only what is rare or large lies beside it.
--
-- Times are microseconds since 1970. `status` is the number of common's lifecycle table: 0 waiting, 1 scheduled,
-- 2 submitted, 3 started, 4 completed, 5 failed, 6 cancelled, 7 aborted, 8 dropped, 9 stalled; 4 and above are over.
--
-- What comes later has its place without touching `task`: dependencies as `edge (task, waits_for, on_failure)`, labels
-- as `label (name, value, task)`, unique keys as `unique_key (key, task, expires_at)`, all settled in the same
-- transaction; atomic commits address a task by `revision`.

-- The one row of counters that every writing transaction reads first and writes last.
CREATE TABLE meta (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    revision       INTEGER NOT NULL, -- given out last
    config_version INTEGER NOT NULL,
    clock          INTEGER NOT NULL, -- the latest time written by; no transaction goes by an earlier one
    commits        INTEGER NOT NULL  -- writing transactions so far: tells a process that another one has written
) STRICT;
INSERT INTO meta VALUES (1, 0, 1, 0, 0);

CREATE TABLE queue (
    key     INTEGER PRIMARY KEY,
    name    TEXT    NOT NULL UNIQUE,
    config  TEXT    NOT NULL,          -- JSON
    removed INTEGER NOT NULL DEFAULT 0 -- tasks deleted so far
) STRICT;
INSERT INTO queue (name, config) VALUES ('default', '{"name":"default"}');

CREATE TABLE role (
    name   TEXT PRIMARY KEY,
    queues TEXT NOT NULL -- JSON: names, in order
) STRICT, WITHOUT ROWID;
INSERT INTO role VALUES ('default', '["default"]');

CREATE TABLE route (
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL, -- -1: every version without a rule of its own
    rule    TEXT    NOT NULL, -- JSON
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker (
    id         TEXT PRIMARY KEY,
    report     TEXT    NOT NULL, -- JSON
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `queue` is no declared foreign key: that would want one more index over all tasks to check the deletion of a queue.
CREATE TABLE task (
    key              INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE,
    fingerprint      BLOB    NOT NULL,
    name             TEXT    NOT NULL,
    version          INTEGER NOT NULL,
    queue            INTEGER NOT NULL,
    rank             INTEGER NOT NULL CHECK (rank BETWEEN 0 AND 9), -- 9 - priority: an ascending walk claims in order
    status           INTEGER NOT NULL CHECK (status BETWEEN 0 AND 9),
    revision         INTEGER NOT NULL,
    position         INTEGER NOT NULL, -- order within a rank: the revision at which it was last put at the end
    attempt          INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    crashes          INTEGER NOT NULL DEFAULT 0,
    submitted_at     INTEGER NOT NULL,
    ready_at         INTEGER NOT NULL,
    started_at       INTEGER,
    heartbeat_at     INTEGER,
    completed_at     INTEGER,
    worker           TEXT,
    fence            INTEGER, -- of the lease; kept by the settlement that ended the task, so that its repetition is known
    lease_expires_at INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    dead_letter      INTEGER NOT NULL DEFAULT 0,
    progress         REAL,
    progress_message TEXT,
    overrides        TEXT, -- JSON; NULL for none
    trace            TEXT,
    parameters_type  TEXT, -- of this and the other types: NULL is application/json
    parameters       BLOB, -- NULL: in large_parameters, or let go
    result_type      TEXT,
    result           BLOB,
    CHECK ((status = 3) = (lease_expires_at IS NOT NULL)),
    CHECK ((status >= 4) = (completed_at IS NOT NULL))
) STRICT;

CREATE INDEX task_ready      ON task (queue, rank, position)     WHERE status = 2;
CREATE INDEX task_leased     ON task (queue, lease_expires_at)   WHERE status = 3;
CREATE INDEX task_scheduled  ON task (queue, ready_at, id)       WHERE status = 1;
CREATE INDEX task_waiting    ON task (queue, position)           WHERE status = 0;
CREATE INDEX task_finished   ON task (queue, status, revision)   WHERE status >= 4;
CREATE INDEX task_cancelling ON task (worker)                    WHERE cancel_requested = 1;

-- Parameters over 1 KiB: a row of `task` is rewritten at each move, these bytes are not.
CREATE TABLE large_parameters (
    task  INTEGER PRIMARY KEY REFERENCES task (key) ON DELETE CASCADE,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoint (
    task  INTEGER PRIMARY KEY REFERENCES task (key) ON DELETE CASCADE,
    type  TEXT,
    bytes BLOB NOT NULL
) STRICT;

-- Failed attempts. A task that never fails never touches it.
CREATE TABLE failure (
    task    INTEGER NOT NULL REFERENCES task (key) ON DELETE CASCADE,
    number  INTEGER NOT NULL, -- grows
    at      INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    worker  TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    message TEXT    NOT NULL,
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;

-- How many tasks of a queue stand where; kept per transaction, not per row, so that nobody counts a million rows.
CREATE TABLE tally (
    queue  INTEGER NOT NULL REFERENCES queue (key) ON DELETE CASCADE,
    status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 9),
    tasks  INTEGER NOT NULL CHECK (tasks >= 0),
    PRIMARY KEY (queue, status)
) STRICT, WITHOUT ROWID;
