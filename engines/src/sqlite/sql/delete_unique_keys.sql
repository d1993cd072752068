-- delete_unique_keys: of a task that is gone.
-- ?1 task
DELETE FROM unique_key WHERE task = ?1
