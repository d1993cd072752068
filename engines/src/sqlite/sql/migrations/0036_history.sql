-- 0036_history: what happened in each queue, by minute for two hours and by hour for eight days.
CREATE TABLE history (
    queue     INTEGER NOT NULL,
    grain     INTEGER NOT NULL,  -- 0 minutes, 1 hours
    number    INTEGER NOT NULL,  -- minutes or hours since 1970
    accepted  INTEGER NOT NULL,
    started   INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    other     INTEGER NOT NULL,
    retried   INTEGER NOT NULL,
    PRIMARY KEY (queue, grain, number)
) STRICT, WITHOUT ROWID;

-- How long tasks waited and ran: tasks by the bucket of that time.
CREATE TABLE history_time (
    queue  INTEGER NOT NULL,
    number INTEGER NOT NULL,  -- hours since 1970
    what   INTEGER NOT NULL,  -- 0 waited, 1 ran
    bucket INTEGER NOT NULL,
    tasks  INTEGER NOT NULL,
    PRIMARY KEY (queue, number, what, bucket)
) STRICT, WITHOUT ROWID;
