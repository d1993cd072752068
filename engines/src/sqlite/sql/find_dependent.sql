-- find_dependent: how many dependencies a task has, and how many of them are signalled.
-- ?1 key
SELECT total, signals FROM dependent WHERE task = ?1
