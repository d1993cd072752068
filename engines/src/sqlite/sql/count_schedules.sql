-- count_schedules: how many schedules there are.
SELECT count(*) FROM schedule
