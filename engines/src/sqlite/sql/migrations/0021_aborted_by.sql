-- 0021_aborted_by: which predecessor aborted a task, and how that had ended. Null for tasks that none aborted.
ALTER TABLE dependent ADD COLUMN aborted_by TEXT;
ALTER TABLE dependent ADD COLUMN aborted_end INTEGER CHECK (aborted_end BETWEEN 4 AND 9);
