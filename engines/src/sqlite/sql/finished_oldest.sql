-- finished_oldest: the tasks of a queue that ended in one way, the oldest first.
-- ?1 queue  ?2 status  ?3 revision to stay above  ?4 limit
SELECT revision, key FROM task
WHERE status >= 4 AND queue = ?1 AND status = ?2 AND revision > ?3
ORDER BY revision LIMIT ?4
