-- list_schedules: schedules in the order of their names.
-- ?1 after this name  ?2 at most how many
SELECT entry, revision FROM schedule WHERE name > ?1 ORDER BY name LIMIT ?2
