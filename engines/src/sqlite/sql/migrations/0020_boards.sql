-- 0020_boards: tasks that clients of MassTasker and TaskStore address by revision.

CREATE TABLE board (
    key      INTEGER PRIMARY KEY,
    name     TEXT    NOT NULL UNIQUE,
    -- The latest revision given. Dense from 1, and never given twice.
    revision INTEGER NOT NULL,
    -- Tasks ever created and deleted: their difference is what is there.
    created  INTEGER NOT NULL,
    deleted  INTEGER NOT NULL
) STRICT;

CREATE TABLE board_task (
    key        INTEGER PRIMARY KEY,
    board      INTEGER NOT NULL, -- key of a board
    -- Its address: new at each change, while the key stays.
    revision   INTEGER NOT NULL,
    group_name TEXT    NOT NULL,
    -- When it becomes visible, in nanoseconds.
    at         INTEGER NOT NULL,
    owner      INTEGER NOT NULL,
    -- A JSON object; NULL without labels.
    labels     TEXT,
    data_type  TEXT    NOT NULL,
    error      TEXT    NOT NULL,
    data       BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX board_task_revision ON board_task (board, revision);
CREATE INDEX board_task_order ON board_task (board, group_name, at, revision);

-- The labels of tasks that have some, to find them by.
CREATE TABLE board_label (
    task  INTEGER NOT NULL, -- key of a task of a board
    label TEXT    NOT NULL,
    value TEXT    NOT NULL,
    board INTEGER NOT NULL,
    PRIMARY KEY (task, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX board_label_value ON board_label (board, label, value, task);

-- The groups that hold tasks.
CREATE TABLE board_group (
    board    INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    tasks    INTEGER NOT NULL,
    -- The revision at which it last received a task, or a task of it moved to an earlier time.
    woken_at INTEGER NOT NULL,
    PRIMARY KEY (board, name)
) STRICT, WITHOUT ROWID;

-- Marks of commits that are applied once.
CREATE TABLE board_mark (
    board INTEGER NOT NULL,
    mark  TEXT    NOT NULL,
    PRIMARY KEY (board, mark)
) STRICT, WITHOUT ROWID;
