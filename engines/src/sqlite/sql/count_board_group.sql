-- count_board_group: the tasks of a group after a change.
-- ?1 board  ?2 group  ?3 how many more tasks  ?4 the revision that wakes callers, or 0
INSERT INTO board_group (board, name, tasks, woken_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (board, name) DO UPDATE SET tasks = tasks + excluded.tasks, woken_at = max(woken_at, excluded.woken_at)
