-- count_of_task: the number of letters of a task, and how many of them a deletion takes: none that is being sent again.
-- ?1 id
SELECT count(*), count(*) FILTER (WHERE state <> 'resubmitting') FROM letter WHERE id = ?1
