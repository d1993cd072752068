-- labels_of_board_task: the board and the labels of a task.
-- ?1 task
SELECT board, labels FROM board_task WHERE key = ?1
