-- find_replaced: what a task keeps that becomes what another submission says.
-- ?1 key
-- Returns id, fingerprint, submitted_at, id_is_chosen.
SELECT id, fingerprint, submitted_at, id_is_chosen FROM task WHERE key = ?1
