-- find_by_key: the operation a client's key began.
-- ?1 key
SELECT id, digest FROM operation WHERE key = ?1
