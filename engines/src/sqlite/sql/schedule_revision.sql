-- schedule_revision: the revision of a schedule.
-- ?1 name
SELECT revision FROM schedule WHERE name = ?1
