-- note_weighed: notes the key up to which tasks are counted.
-- ?1 queue  ?2 key
UPDATE queue SET weighed = ?2 WHERE key = ?1
