-- 0011_gates: limits by key and by task.
--
-- A gate is what such a limit is for, within a queue: `k` and a key, or `t` and a task's name. A submitted task that the
-- claim has found behind a shut gate is noted with it (`task.gate`), and stands aside from the index that claims walk. It
-- is submitted all the same, at its place. How many of a gate run, the leases say.

ALTER TABLE task ADD COLUMN concurrency_key TEXT;
-- What holds it back; of no meaning unless it is submitted.
ALTER TABLE task ADD COLUMN gate TEXT;

DROP INDEX task_ready;
CREATE INDEX task_ready      ON task (queue, rank, position)       WHERE status = 2 AND gate IS NULL;
CREATE INDEX task_aside      ON task (queue, rank, position)       WHERE status = 2 AND gate IS NOT NULL;
CREATE INDEX task_gate       ON task (queue, gate, rank, position) WHERE status = 2 AND gate IS NOT NULL;
CREATE INDEX task_leased_key ON task (queue, concurrency_key)      WHERE status = 3 AND concurrency_key IS NOT NULL;

-- Gates that may let tasks pass, and from when on.
CREATE TABLE gate_due (
    queue INTEGER NOT NULL REFERENCES queue (key) ON DELETE CASCADE,
    gate  TEXT    NOT NULL,
    due   INTEGER NOT NULL,
    PRIMARY KEY (queue, gate)
) STRICT, WITHOUT ROWID;
CREATE INDEX gate_due_time ON gate_due (queue, due);

-- Where the rates of gates stand that lie ahead.
CREATE TABLE gate_mark (
    queue INTEGER NOT NULL REFERENCES queue (key) ON DELETE CASCADE,
    gate  TEXT    NOT NULL,
    mark  INTEGER NOT NULL,
    PRIMARY KEY (queue, gate)
) STRICT, WITHOUT ROWID;
CREATE INDEX gate_mark_time ON gate_mark (queue, mark);

-- Queues whose limits have changed: their gates are looked at anew, some at a time, in the order of their names.
CREATE TABLE gate_sweep (
    queue INTEGER PRIMARY KEY REFERENCES queue (key) ON DELETE CASCADE,
    after TEXT NOT NULL -- the gate looked at last
) STRICT;
