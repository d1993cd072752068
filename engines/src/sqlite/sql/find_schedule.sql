-- find_schedule: a schedule.
-- ?1 name
SELECT entry, revision FROM schedule WHERE name = ?1
