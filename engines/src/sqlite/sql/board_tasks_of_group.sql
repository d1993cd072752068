-- board_tasks_of_group: what a commit needs of the tasks of a group.
-- ?1 board  ?2 group  ?3 at most how many
SELECT key, revision, group_name, at, owner, labels IS NOT NULL FROM board_task
WHERE board = ?1 AND group_name = ?2
LIMIT ?3
