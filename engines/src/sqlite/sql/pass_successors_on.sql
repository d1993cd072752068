-- pass_successors_on: what waited for a task waits for the one that it has become.
-- ?1 key of the task  ?2 key of the new one
UPDATE dependency SET predecessor = ?2 WHERE predecessor = ?1
