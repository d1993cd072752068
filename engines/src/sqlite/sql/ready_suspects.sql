-- ready_suspects: the ready tasks of a queue that are suspected of crashing their workers, in the order of claiming.
-- ?1 queue  ?2 limit
-- Returns key, suspicion, name, key of concurrency and version.
SELECT key, suspicion, name, concurrency_key, version FROM task
WHERE status = 2 AND gate = '!' AND queue = ?1
ORDER BY rank, position LIMIT ?2
