-- holders_of_name: some of the tasks of a name that run, by their ids. Looks at every lease of the queue.
-- ?1 queue  ?2 name  ?3 limit
SELECT id FROM task WHERE status = 3 AND queue = ?1 AND name = ?2 ORDER BY id LIMIT ?3
