-- 0014_suspicion: which task crashes its workers.
--
-- A ready task that is suspected of crashing its workers is set aside behind the gate `!`, which sorts before all others:
-- a claim takes few of these at a time. `blames` counts the crashes at which a task was its worker's only suspect.

ALTER TABLE task ADD COLUMN blames INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN suspicion INTEGER NOT NULL DEFAULT 0 CHECK (suspicion BETWEEN 0 AND 3);
CREATE INDEX task_held_suspect ON task (worker) WHERE status = 3 AND suspicion > 0;

-- The latest loss of each worker: what it held when the first of its leases was taken back.
CREATE TABLE worker_loss (
    worker   TEXT PRIMARY KEY,
    at       INTEGER NOT NULL,
    suspects INTEGER NOT NULL,
    leases   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
