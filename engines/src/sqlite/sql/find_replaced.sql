-- find_replaced: what a task keeps that becomes what another submission says.
-- ?1 key
-- Answers id, fingerprint, submitted_at.
SELECT id, fingerprint, submitted_at FROM task WHERE key = ?1
