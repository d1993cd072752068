-- drop_dependency_count: a task has one dependency less, because its predecessor was deleted.
-- ?1 key
-- Returns how many of the others are not signalled.
UPDATE dependent SET total = total - 1 WHERE task = ?1 RETURNING total - signals
