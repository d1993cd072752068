-- put_role: creates or replaces a role.
-- ?1 name  ?2 queues
INSERT INTO role (name, queues) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET queues = excluded.queues
