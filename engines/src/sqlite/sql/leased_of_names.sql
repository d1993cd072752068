-- leased_of_names: how many tasks of each name run. Looks at every lease of the queue.
-- ?1 queue
SELECT name, count(*) FROM task WHERE status = 3 AND queue = ?1 GROUP BY name
