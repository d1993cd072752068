-- page: letters that match, the latest first.
-- :before continue before this key; :limit; and those of matching.sql
SELECT key, id, revision, queue, name, version, status, failed_at, attempt, worker, kind, error, fingerprint, state,
       resubmitted_at, operation, sensitive
FROM letter
WHERE key < :before AND MATCHING
ORDER BY key DESC
LIMIT :limit

-- count_letters: the number of letters that match.
-- Parameters: those of matching.sql.
SELECT count(*) FROM letter WHERE MATCHING

-- groups: letters that match, counted by queue, task, version and error; the largest groups first.
-- :limit; and those of matching.sql
SELECT queue, name, version, fingerprint, count(*) AS letters, min(failed_at) AS first_seen, max(failed_at) AS last_seen,
       max(error) AS example
FROM letter
WHERE MATCHING
GROUP BY queue, name, version, fingerprint
ORDER BY count(*) DESC, queue, name, version, fingerprint
LIMIT :limit

-- take_matching: adds the letters that match to an operation, the oldest first.
-- :operation  :limit; and those of matching.sql
INSERT INTO item (operation, place, task, letter, revision)
SELECT :operation, row_number() OVER (ORDER BY key) - 1, id, key, revision
FROM letter
WHERE state = 'dead' AND MATCHING
ORDER BY key
LIMIT :limit

-- delete_matching: deletes letters that match, the oldest first; none that is being sent again.
-- :limit; and those of matching.sql
DELETE FROM letter
WHERE key IN (SELECT key FROM letter WHERE state <> 'resubmitting' AND MATCHING ORDER BY key LIMIT :limit)
