-- cut_tombstones: deletes the oldest tombstones, whatever their time.
-- ?1 how many
DELETE FROM tombstone WHERE id IN (SELECT id FROM tombstone ORDER BY forget_at LIMIT ?1)
