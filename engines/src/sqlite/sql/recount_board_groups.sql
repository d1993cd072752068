-- recount_board_groups: the counts of the groups of a board that hold tasks.
-- ?1 board
INSERT INTO board_group (board, name, tasks, woken_at)
SELECT board, group_name, count(*), max(revision) FROM board_task WHERE board = ?1 GROUP BY group_name
ON CONFLICT (board, name) DO UPDATE SET tasks = excluded.tasks
