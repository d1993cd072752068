-- delete_signalled: deletes the edges of a task that are signalled.
-- ?1 key of the predecessor  ?2 since of the last one  ?3 key of its successor
DELETE FROM dependency WHERE predecessor = ?1 AND (since, successor) <= (?2, ?3)
