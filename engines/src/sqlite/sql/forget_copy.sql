-- forget_copy: takes a copy off the outbox.
-- ?1 id  ?2 revision
DELETE FROM outbox WHERE id = ?1 AND revision = ?2
