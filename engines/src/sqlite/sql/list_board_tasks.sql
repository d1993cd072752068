-- list_board_tasks: a page of a group.
-- ?1 board  ?2 group  ?3, ?4 after this time and revision  ?5 the latest time that is listed  ?6 at most how many
SELECT key, revision, group_name, at, owner, labels, data_type, error, data FROM board_task
WHERE board = ?1 AND group_name = ?2 AND (at, revision) > (?3, ?4) AND at <= ?5
ORDER BY at, revision
LIMIT ?6
