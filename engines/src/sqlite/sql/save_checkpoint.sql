-- save_checkpoint: stores the checkpoint for the task's next attempt.
-- ?1 task's key  ?2 type  ?3 bytes
INSERT INTO checkpoint (task, type, bytes) VALUES (?1, ?2, ?3)
ON CONFLICT (task) DO UPDATE SET type = excluded.type, bytes = excluded.bytes
