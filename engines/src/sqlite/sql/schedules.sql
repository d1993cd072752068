-- put_schedule: stores a schedule.
-- ?1 name  ?2 revision  ?3 next_at  ?4 entry
INSERT INTO schedule (name, revision, next_at, entry) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, next_at = excluded.next_at, entry = excluded.entry

-- find_schedule: a schedule by its name.
-- ?1 name
SELECT entry, revision FROM schedule WHERE name = ?1

-- schedule_revision: the revision of a schedule.
-- ?1 name
SELECT revision FROM schedule WHERE name = ?1

-- list_schedules: schedules in the order of their names.
-- ?1 after this name  ?2 at most how many
SELECT entry, revision FROM schedule WHERE name > ?1 ORDER BY name LIMIT ?2

-- count_schedules: how many schedules there are.
SELECT count(*) FROM schedule

-- due_schedules: schedules with something to do, the longest due first, and the first one of the future.
-- ?1 at most how many
SELECT entry, revision, next_at FROM schedule WHERE next_at IS NOT NULL ORDER BY next_at, name LIMIT ?1

-- delete_schedule: deletes a schedule.
-- ?1 name
DELETE FROM schedule WHERE name = ?1
