-- keep_catalogue: keeps a catalogue of tasks, for longer if it is there.
-- ?1 id  ?2 tasks  ?3 expires_at
INSERT INTO catalogue (id, tasks, expires_at) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
