-- find_duty: who has, or had last, a duty.
-- ?1 name
SELECT holder, note, term, expires_at FROM duty WHERE name = ?1
