-- 0029_second_ends: a task that was sent again may end while its first end is still to be signalled to some successors.
--
-- Edges with a `since` from `from_since` on, and below `before`, belong to the end.

ALTER TABLE signal_due ADD COLUMN from_since INTEGER NOT NULL DEFAULT 0;
CREATE INDEX signal_due_predecessor ON signal_due (predecessor, before);
