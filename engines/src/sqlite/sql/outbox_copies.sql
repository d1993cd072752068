-- outbox_copies: the oldest copies of the outbox after a revision.
-- ?1 that revision  ?2 at most how many
SELECT revision, id, copy FROM outbox WHERE revision > ?1 ORDER BY revision LIMIT ?2
