-- forget_copy: takes a copy off the outbox.
-- ?1 revision  ?2 id
DELETE FROM outbox WHERE revision = ?1 AND id = ?2
