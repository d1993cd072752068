-- delete_old_catalogues: forgets the catalogues whose time is over.
-- ?1 now
DELETE FROM catalogue WHERE expires_at <= ?1
