-- leased_of_key: how many tasks of a key run.
-- ?1 queue  ?2 key of concurrency
SELECT count(*) FROM task WHERE status = 3 AND queue = ?1 AND concurrency_key = ?2
