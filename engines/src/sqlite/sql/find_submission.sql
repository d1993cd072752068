-- find_submission: the task that has taken an id, and the fingerprint of its submission.
-- ?1 id
-- Returns key, queue, status, fingerprint.
SELECT key, queue, status, fingerprint FROM task WHERE id = ?1
