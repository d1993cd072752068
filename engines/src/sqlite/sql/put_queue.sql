-- put_queue: creates or replaces a queue's configuration.
-- ?1 name  ?2 config
INSERT INTO queue (name, config) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET config = excluded.config
