-- take_key: gives a task a unique key, whichever task had it.
-- ?1 name  ?2 key  ?3 task  ?4 until  ?5 last_id  ?6 last_fingerprint
INSERT INTO unique_key (name, key, task, until, last_id, last_fingerprint) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (name, key) DO UPDATE
SET task = excluded.task, until = excluded.until, last_id = excluded.last_id, last_fingerprint = excluded.last_fingerprint
