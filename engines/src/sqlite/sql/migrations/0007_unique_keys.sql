-- 0007_unique_keys: tasks that are to be the only one of their kind.
--
-- Whether the task of a row of `unique_key` holds the key is judged when somebody asks for it, by the task's status and
-- the time: a move of a task touches neither table.

-- What a submission said of that; asked for with its task.
CREATE TABLE uniqueness (
    task INTEGER PRIMARY KEY REFERENCES task (key) ON DELETE CASCADE,
    said TEXT NOT NULL -- JSON
) STRICT;

-- The task that took a key last.
CREATE TABLE unique_key (
    name             TEXT    NOT NULL, -- of tasks
    key              TEXT    NOT NULL,
    task             INTEGER NOT NULL REFERENCES task (key) ON DELETE CASCADE,
    until            INTEGER, -- NULL: without end
    last_id          TEXT,    -- of the latest submission that the task has become, if it has become another
    last_fingerprint BLOB,
    PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX unique_key_task ON unique_key (task);
