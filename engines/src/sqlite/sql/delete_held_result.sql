-- delete_held_result: deletes what is kept of a deleted task.
-- ?1 its number
DELETE FROM held_result WHERE rowid = ?1
