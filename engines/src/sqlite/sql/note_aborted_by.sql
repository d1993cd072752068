-- note_aborted_by: notes the predecessor whose end aborts a task.
-- ?1 key  ?2 the predecessor's id  ?3 how it ended
UPDATE dependent SET aborted_by = ?2, aborted_end = ?3 WHERE task = ?1
