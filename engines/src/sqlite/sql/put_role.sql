-- put_role: creates or replaces a role.
-- ?1 name  ?2 queues  ?3 config
INSERT INTO role (name, queues, config) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET queues = excluded.queues, config = excluded.config
