-- delete_released: deletes what is kept of the predecessors of tasks, unless other tasks hold them.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM held_result
WHERE id IN (SELECT predecessor FROM parent WHERE successor IN (SELECT value FROM json_each(?1)))
  AND NOT EXISTS (SELECT 1 FROM parent WHERE predecessor = held_result.id AND holds = 1)
