-- audit_weights: the tasks with counted bytes, and whether each exists.
-- ?1 after this task  ?2 limit
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = weight.task) FROM weight WHERE task > ?1 ORDER BY task LIMIT ?2
