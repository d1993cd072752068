-- note_tombstones: counts tombstones that were added and deleted.
-- ?1 change of the count  ?2 when one was forgotten before its time, or NULL
UPDATE tombstones SET count = count + ?1, cut_at = coalesce(?2, cut_at)
