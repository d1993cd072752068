-- keep_results: keeps how those of some tasks ended that are to be deleted and that other tasks hold.
-- ?1 keys of tasks, a JSON array
INSERT OR REPLACE INTO held_result (id, status, result_type, result)
SELECT id, status, result_type, result FROM task
WHERE key IN (SELECT value FROM json_each(?1)) AND status > 3
  AND EXISTS (SELECT 1 FROM parent WHERE predecessor = task.id AND holds = 1)
