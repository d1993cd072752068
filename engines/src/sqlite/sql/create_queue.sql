-- create_queue: creates a queue without settings of its own, unless it exists.
-- ?1 name
INSERT INTO queue (name, config) VALUES (?1, '') ON CONFLICT (name) DO NOTHING
