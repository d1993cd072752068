-- outbox_copies: the oldest copies of the outbox.
-- ?1 at most how many
SELECT copy FROM outbox ORDER BY revision LIMIT ?1
