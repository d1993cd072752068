-- insert_board_task: a task that a commit creates.
-- ?1 board  ?2 revision  ?3 group  ?4 time  ?5 owner  ?6 labels  ?7 type of the data  ?8 error  ?9 data
INSERT INTO board_task (board, revision, group_name, at, owner, labels, data_type, error, data)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
RETURNING key
