-- board_group_woken_at: the revision at which callers that wait for a group were last woken.
-- ?1 name of a board  ?2 group
SELECT woken_at FROM board_group WHERE board = (SELECT key FROM board WHERE name = ?1) AND name = ?2
