-- find_uniqueness: what a task's submission said of being the only one of its kind.
-- ?1 task
-- Answers the task's name, and what was said.
SELECT task.name, uniqueness.said FROM uniqueness JOIN task ON task.key = uniqueness.task WHERE uniqueness.task = ?1
