-- latest_letter: the latest letter of a task, whole.
-- ?1 id
SELECT key, id, revision, queue, name, version, status, failed_at, attempt, worker, kind, error, fingerprint, state,
       resubmitted_at, operation, copy
FROM letter
WHERE id = ?1
ORDER BY revision DESC
LIMIT 1
