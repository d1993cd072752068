-- next_board_tasks: the revisions and times of the earliest tasks of a group, from the index alone.
-- ?1 board  ?2 group  ?3 at most how many
SELECT revision, at FROM board_task WHERE board = ?1 AND group_name = ?2 ORDER BY at, revision LIMIT ?3
