-- set_board_content: the new content of a task that a commit updates.
-- ?1 key  ?2 labels  ?3 type of the data  ?4 error  ?5 data
UPDATE board_task SET labels = ?2, data_type = ?3, error = ?4, data = ?5 WHERE key = ?1
