-- 0008_submit_rates: how far the rate at which a queue takes tasks in is used up.

ALTER TABLE queue ADD COLUMN intake_mark INTEGER NOT NULL DEFAULT 0; -- when all tasks taken in so far would have had their turn
