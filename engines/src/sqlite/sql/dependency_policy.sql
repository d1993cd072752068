-- dependency_policy: the policy of an edge without a signal, if it exists.
-- ?1 key of the successor  ?2 key of the predecessor
SELECT policy FROM dependency WHERE successor = ?1 AND predecessor = ?2 LIMIT 1
