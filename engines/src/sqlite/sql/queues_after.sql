-- queues_after: the queues after a name, in the order of names, and how many tasks were ever deleted from each.
-- ?1 name  ?2 limit
SELECT key, name, removed FROM queue WHERE name > ?1 ORDER BY name LIMIT ?2
