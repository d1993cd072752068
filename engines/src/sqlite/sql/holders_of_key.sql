-- holders_of_key: some of the tasks of a key that run, by their ids.
-- ?1 queue  ?2 key of concurrency  ?3 limit
SELECT id FROM task WHERE status = 3 AND queue = ?1 AND concurrency_key = ?2 ORDER BY id LIMIT ?3
