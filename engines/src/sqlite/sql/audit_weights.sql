-- audit_weights: what tasks weigh, and whether the task is there.
-- ?1 after this task  ?2 limit
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = weight.task) FROM weight WHERE task > ?1 ORDER BY task LIMIT ?2
