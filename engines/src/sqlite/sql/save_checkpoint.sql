-- save_checkpoint: keeps what the task's next attempt shall find.
-- ?1 task's key  ?2 type  ?3 bytes
INSERT INTO checkpoint (task, type, bytes) VALUES (?1, ?2, ?3)
ON CONFLICT (task) DO UPDATE SET type = excluded.type, bytes = excluded.bytes
