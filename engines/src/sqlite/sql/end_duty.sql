-- end_duty: a holder gives its duty back. It stays known, so that terms go on growing.
-- ?1 name  ?2 holder  ?3 now
UPDATE duty SET expires_at = ?3 WHERE name = ?1 AND holder = ?2 AND expires_at > ?3
