-- audit_board_tasks: tasks of boards, and whether their boards and groups are there.
-- ?1 the task after which to go on, ?2 at most how many
SELECT t.key, t.revision, t.board, b.name, t.labels,
       EXISTS (SELECT 1 FROM board_group g WHERE g.board = t.board AND g.name = t.group_name)
FROM board_task t LEFT JOIN board b ON b.key = t.board
WHERE t.key > ?1
ORDER BY t.key
LIMIT ?2
