-- get_board_task: all of the task at a revision.
-- ?1 board  ?2 revision
SELECT key, revision, group_name, at, owner, labels, data_type, error, data FROM board_task
WHERE board = ?1 AND revision = ?2
