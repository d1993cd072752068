-- late_signals: signals that have not come in time, the longest due first.
-- ?1 now  ?2 limit
SELECT late.task, late.name, late.on_timeout
FROM (SELECT task, name, on_timeout, due FROM external_signal
      WHERE state = 0 AND due IS NOT NULL AND due <= ?1 ORDER BY due, task, name LIMIT ?2) AS late
     JOIN task ON task.key = late.task
ORDER BY late.due, task.id, late.name
