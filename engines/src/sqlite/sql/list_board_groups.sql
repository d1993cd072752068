-- list_board_groups: a page of the groups of a board.
-- ?1 board  ?2 the least name that is listed  ?3 at most how many
SELECT name, tasks FROM board_group WHERE board = ?1 AND name >= ?2 ORDER BY name LIMIT ?3
