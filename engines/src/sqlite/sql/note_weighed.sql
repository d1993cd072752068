-- note_weighed: up to which key tasks have been come to.
-- ?1 queue  ?2 key
UPDATE queue SET weighed = ?2 WHERE key = ?1
