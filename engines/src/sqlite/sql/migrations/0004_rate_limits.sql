-- 0004_rate_limits: how far the rate of a queue is used up.

ALTER TABLE queue ADD COLUMN rate_mark INTEGER NOT NULL DEFAULT 0; -- when all tasks started so far would have had their turn
