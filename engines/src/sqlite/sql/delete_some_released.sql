-- delete_some_released: deletes what is kept of some predecessors of a task, unless other tasks hold them.
-- ?1 key of the task  ?2 the first place  ?3 the place after the last
DELETE FROM held_result
WHERE id IN (SELECT predecessor FROM parent WHERE successor = ?1 AND place >= ?2 AND place < ?3)
  AND NOT EXISTS (SELECT 1 FROM parent WHERE predecessor = held_result.id AND holds = 1)
