-- find_board_task: what a commit needs of the task at a revision.
-- ?1 board  ?2 revision
SELECT key, revision, group_name, at, owner, labels IS NOT NULL FROM board_task WHERE board = ?1 AND revision = ?2
