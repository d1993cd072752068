-- 0001_letters: the first schema of the archive.
--
-- Times are microseconds since 1970, by the store's clock for what happened to tasks and by this machine's for the rest.

-- What tells this archive apart from every other.
CREATE TABLE archive (id TEXT NOT NULL) STRICT;
INSERT INTO archive VALUES (lower(hex(randomblob(8))));

-- One end of one task. A task that was sent again and failed again has another.
CREATE TABLE letter (
    key            INTEGER PRIMARY KEY, -- grows in the order of arrival
    id             TEXT    NOT NULL,
    revision       INTEGER NOT NULL,    -- of the task when it ended
    queue          TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    version        INTEGER NOT NULL,
    status         TEXT    NOT NULL,    -- failed, stalled or dropped
    failed_at      INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    worker         TEXT,
    kind           TEXT,                -- of the last failure
    error          TEXT    NOT NULL,    -- the last failure's message
    fingerprint    TEXT    NOT NULL,    -- of that message
    state          TEXT    NOT NULL CHECK (state IN ('dead', 'resubmitting', 'resubmitted', 'superseded')),
    resubmitted_at INTEGER,
    operation      TEXT,                -- that sends or sent it again
    copy           BLOB    NOT NULL,    -- MessagePack, fields by name: common's DeadTask
    UNIQUE (id, revision)
) STRICT;

CREATE INDEX letter_state  ON letter (state, key);
CREATE INDEX letter_failed ON letter (failed_at);

-- Every failure of a task that has, or had, a letter; it grows as long as the task goes on failing.
CREATE TABLE failure (
    id      TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    worker  TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    message TEXT    NOT NULL,
    error_kind TEXT, -- where the task says so
    PRIMARY KEY (id, at, attempt, worker, kind)
) STRICT, WITHOUT ROWID;

-- Letters that are sent again together.
CREATE TABLE operation (
    id          TEXT PRIMARY KEY,
    key         TEXT UNIQUE,            -- the client's Idempotency-Key
    digest      INTEGER NOT NULL,       -- of the request that came with it
    request     TEXT    NOT NULL,       -- JSON
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX operation_running ON operation (created_at) WHERE finished_at IS NULL;

CREATE TABLE item (
    operation TEXT    NOT NULL REFERENCES operation (id) ON DELETE CASCADE,
    place     INTEGER NOT NULL,
    task      TEXT    NOT NULL,
    letter    INTEGER,                  -- NULL: there is none for this task
    outcome   TEXT,                     -- NULL: not sent yet
    detail    TEXT,
    PRIMARY KEY (operation, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX item_pending ON item (operation, place) WHERE outcome IS NULL;
