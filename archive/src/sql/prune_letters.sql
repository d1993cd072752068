-- prune_letters: deletes letters by age and by number; none that is being sent again.
-- ?1 failed before this  ?2 with a key below this  ?3 at most how many
DELETE FROM letter
WHERE key IN (SELECT key FROM letter WHERE state <> 'resubmitting' AND (failed_at < ?1 OR key < ?2)
              ORDER BY key LIMIT ?3)
