-- find_by_key: the operation that a client's key began.
-- ?1 key
SELECT id, digest FROM operation WHERE key = ?1
