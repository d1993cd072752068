-- trim_failures: forgets all but the latest failed attempts of a task.
-- ?1 task's key  ?2 how many to keep
DELETE FROM failure
WHERE task = ?1 AND number <= (SELECT number FROM failure WHERE task = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
