-- page: letters that match, the latest first.
-- :before continue before this key; :limit; and those of matching.sql
SELECT key, id, revision, queue, name, version, status, failed_at, attempt, worker, kind, error, fingerprint, state,
       resubmitted_at, operation
FROM letter
WHERE key < :before AND MATCHING
ORDER BY key DESC
LIMIT :limit
