-- set_aside: sets a submitted task aside, behind a gate that is shut.
-- ?1 key  ?2 gate
UPDATE task SET gate = ?2 WHERE key = ?1
