-- delete_board_task: a task that a commit deletes.
-- ?1 key
DELETE FROM board_task WHERE key = ?1
