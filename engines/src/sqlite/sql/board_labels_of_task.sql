-- board_labels_of_task: the labels by which a task is found.
-- ?1 task  ?2 board
SELECT label, value FROM board_label WHERE task = ?1 AND board = ?2
