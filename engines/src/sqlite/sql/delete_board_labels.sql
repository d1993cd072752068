-- delete_board_labels: of a task that is gone or gets other ones.
-- ?1 task
DELETE FROM board_label WHERE task = ?1
