-- count_ends: dependencies of a task are signalled, and others do not count any more, because their tasks were deleted.
-- ?1 key  ?2 how many are signalled  ?3 how many do not count
-- Returns how many are not signalled.
UPDATE dependent SET signals = signals + ?2, total = total - ?3 WHERE task = ?1 RETURNING total - signals
