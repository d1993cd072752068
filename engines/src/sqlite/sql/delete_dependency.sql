-- delete_dependency: deletes an edge that is signalled.
-- ?1 key of the predecessor  ?2 since  ?3 key of the successor
DELETE FROM dependency WHERE predecessor = ?1 AND since = ?2 AND successor = ?3
