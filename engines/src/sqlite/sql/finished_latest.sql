-- finished_latest: the tasks of a queue that ended in one way, the latest first.
-- ?1 queue  ?2 status  ?3 revision to stay below  ?4 limit
SELECT revision, key FROM task
WHERE status >= 4 AND queue = ?1 AND status = ?2 AND revision < ?3
ORDER BY revision DESC LIMIT ?4
