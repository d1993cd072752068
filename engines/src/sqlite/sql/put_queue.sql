-- put_queue: puts the settings of a queue, and creates the queue unless it exists.
-- ?1 name  ?2 config
INSERT INTO queue (name, config) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET config = excluded.config
