-- delete_checkpoint: deletes the checkpoints of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM checkpoint WHERE task IN (SELECT value FROM json_each(?1))
