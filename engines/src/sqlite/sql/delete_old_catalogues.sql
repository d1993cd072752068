-- delete_old_catalogues: deletes expired catalogues.
-- ?1 now
DELETE FROM catalogue WHERE expires_at <= ?1
