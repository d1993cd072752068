-- pass_successors_on: makes the tasks that waited for one task wait for the one that replaces it.
-- ?1 key of the task  ?2 key of the new one
UPDATE dependency SET predecessor = ?2 WHERE predecessor = ?1
