-- queues_from: the queues from a name on, in the order of names.
-- ?1 name  ?2 limit
SELECT key, name FROM queue WHERE name >= ?1 ORDER BY name LIMIT ?2
