-- log_change: logs a change that begins.
-- ?1 number  ?2 id  ?3 now  ?4 record
INSERT INTO logged_change (number, id, begun_at, record) VALUES (?1, ?2, ?3, ?4)

-- is_logged: whether a change is logged.
-- ?1 id
SELECT count(*) FROM logged_change WHERE id = ?1

-- log_outcome: notes the outcome of a change, unless it has one. Changes one row or none.
-- ?1 id  ?2 outcome
UPDATE logged_change SET outcome = ?2 WHERE id = ?1 AND outcome IS NULL

-- logged_changes: changes after a number, in the order in which they were logged.
-- ?1 that number  ?2 at most how many
SELECT number, id, begun_at, record, outcome FROM logged_change WHERE number > ?1 ORDER BY number LIMIT ?2

-- count_logged: how many changes are logged.
SELECT count(*) FROM logged_change

-- forget_logged: deletes a change if it has an outcome, or if it has none.
-- ?1 id  ?2 whether it has an outcome
DELETE FROM logged_change WHERE id = ?1 AND (outcome IS NOT NULL) = ?2
