-- delete_matching: deletes letters that match, the oldest first; none that is being sent again.
-- :limit; and those of matching.sql
DELETE FROM letter
WHERE key IN (SELECT key FROM letter WHERE state <> 'resubmitting' AND MATCHING ORDER BY key LIMIT :limit)
