-- sweep_tombstones: deletes tombstones whose time is over, the oldest first.
-- ?1 now  ?2 limit
DELETE FROM tombstone WHERE id IN (SELECT id FROM tombstone WHERE forget_at <= ?1 ORDER BY forget_at LIMIT ?2)
