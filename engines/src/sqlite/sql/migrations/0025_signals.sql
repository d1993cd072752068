-- 0025_signals: signals from outside that tasks wait for.
--
-- `dependent.total` of their task counts them, and `dependent.signals` those that came or timed out. A task with signals has
-- `linked`.

CREATE TABLE external_signal (
    task       INTEGER NOT NULL, -- key of a task
    name       TEXT    NOT NULL,
    on_timeout INTEGER NOT NULL CHECK (on_timeout BETWEEN 0 AND 1),
    timeout    INTEGER,          -- microseconds from when the task waits for no other task; NULL: without end
    due        INTEGER,          -- when that is over, once it is known
    state      INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
    at         INTEGER,          -- since when it is in a later state than the first
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX external_signal_due ON external_signal (due, task, name) WHERE state = 0 AND due IS NOT NULL;
