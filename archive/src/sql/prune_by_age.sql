-- prune_by_age: deletes letters by age, the oldest first; none that is being sent again.
-- ?1 failed before this time  ?2 limit
DELETE FROM letter
WHERE key IN (SELECT key FROM letter WHERE failed_at < ?1 AND state <> 'resubmitting' ORDER BY failed_at LIMIT ?2)
