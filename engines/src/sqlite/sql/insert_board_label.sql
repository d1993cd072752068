-- insert_board_label: a label of a task.
-- ?1 task  ?2 label  ?3 value  ?4 board
INSERT INTO board_label (task, label, value, board) VALUES (?1, ?2, ?3, ?4)
