-- Schedules: tasks that are submitted by cron or at an interval.

CREATE TABLE schedule (
    name TEXT PRIMARY KEY,
    -- New at each change, from the store's counter.
    revision INTEGER NOT NULL,
    -- When there is something to do, in microseconds; NULL while it is paused.
    next_at INTEGER,
    -- Settings and state as JSON.
    entry TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX schedule_due ON schedule (next_at, name) WHERE next_at IS NOT NULL;
