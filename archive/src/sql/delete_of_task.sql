-- delete_of_task: deletes a task's letters; none that is being sent again.
-- ?1 id
DELETE FROM letter WHERE id = ?1 AND state <> 'resubmitting'
