-- insert_large_parameters: parameters over 1 KiB, beside their task.
-- ?1 task's key  ?2 bytes
INSERT INTO large_parameters (task, bytes) VALUES (?1, ?2)
