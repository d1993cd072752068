-- groups: letters that match, counted by queue, task, version and error; the largest groups first.
-- :limit; and those of matching.sql
SELECT queue, name, version, fingerprint, count(*), min(failed_at), max(failed_at), max(error)
FROM letter
WHERE MATCHING
GROUP BY queue, name, version, fingerprint
ORDER BY count(*) DESC, queue, name, version, fingerprint
LIMIT :limit
