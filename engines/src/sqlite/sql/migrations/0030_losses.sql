-- 0030_losses: how suspect a task is, by how often in a row it was lost with its worker.
--
-- Only a task that was lost twice or more waits behind the gate `!`. `ran_s` says how many seconds it had run at the last loss.
-- The column `suspicion` is not used any more; it stays, because dropping it would write every task again.

ALTER TABLE task ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN ran_s INTEGER NOT NULL DEFAULT 0;
UPDATE task SET losses = suspicion, ran_s = 15, gate = iif(suspicion = 1 AND gate = '!', NULL, gate) WHERE suspicion > 0;

DROP INDEX task_held_suspect;
CREATE INDEX task_held_suspect ON task (worker) WHERE status = 3 AND losses > 1;
