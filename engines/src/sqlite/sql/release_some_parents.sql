-- release_some_parents: a task that is over holds some of its predecessors no longer.
-- ?1 key  ?2 the first place  ?3 the place after the last
UPDATE parent SET holds = 0 WHERE successor = ?1 AND place >= ?2 AND place < ?3 AND holds = 1
