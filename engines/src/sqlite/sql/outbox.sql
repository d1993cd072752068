-- put_in_outbox: keeps a copy of a task that failed for good.
-- ?1 revision  ?2 id  ?3 copy
INSERT INTO outbox (revision, id, copy) VALUES (?1, ?2, ?3)

-- outbox_copies: the oldest copies of the outbox after a revision.
-- ?1 that revision  ?2 at most how many
SELECT revision, id, copy FROM outbox WHERE revision > ?1 ORDER BY revision LIMIT ?2

-- outbox_size: how many copies are on the outbox.
SELECT count(*) FROM outbox INDEXED BY outbox_place

-- forget_copy: takes a copy off the outbox.
-- ?1 id  ?2 revision
DELETE FROM outbox WHERE id = ?1 AND revision = ?2

-- leave_receipt: notes that a copy was sent again.
-- ?1 id  ?2 revision
-- Changes one row, or none when it was noted before.
INSERT INTO receipt (id, revision) VALUES (?1, ?2) ON CONFLICT DO NOTHING

-- find_receipt: whether a copy was sent again.
-- ?1 id  ?2 revision
SELECT count(*) FROM receipt WHERE id = ?1 AND revision = ?2

-- forget_receipt: takes a receipt away.
-- ?1 id  ?2 revision
DELETE FROM receipt WHERE id = ?1 AND revision = ?2
