-- board_tasks_of_label: what a commit needs of the tasks with a value of a label.
-- ?1 board  ?2 label  ?3 value  ?4 at most how many
SELECT t.key, t.revision, t.group_name, t.at, t.owner, 1
FROM board_label l CROSS JOIN board_task t ON t.key = l.task
WHERE l.board = ?1 AND l.label = ?2 AND l.value = ?3
LIMIT ?4
