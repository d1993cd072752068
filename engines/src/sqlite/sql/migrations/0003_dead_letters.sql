-- 0003_dead_letters: tasks that failed for good, until an archive has them; duties; patience.
--
-- `outbox` refers to no task: its copies outlive whatever becomes of them.

CREATE TABLE outbox (
    revision INTEGER PRIMARY KEY, -- of the task when it ended: unique in the store, and the order of ends
    id       TEXT NOT NULL,
    copy     BLOB NOT NULL        -- MessagePack, fields by name: common's DeadTask
) STRICT;

-- Counts the copies without reading them.
CREATE INDEX outbox_place ON outbox (revision);

-- Copies that were sent again, until the archive has noted that.
CREATE TABLE receipt (
    id       TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (id, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE duty (
    name       TEXT PRIMARY KEY,
    holder     TEXT    NOT NULL,
    note       TEXT    NOT NULL,
    term       INTEGER NOT NULL, -- grows with each new holder
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Tasks that workers give back for not knowing them. A task that runs leaves it.
CREATE TABLE stranger (
    task  INTEGER PRIMARY KEY REFERENCES task (key) ON DELETE CASCADE,
    since INTEGER NOT NULL
) STRICT;
