-- find_uniqueness: the uniqueness constraint of a task's submission.
-- ?1 task
-- Returns the task's name, and what was said.
SELECT task.name, uniqueness.said FROM uniqueness JOIN task ON task.key = uniqueness.task WHERE uniqueness.task = ?1
