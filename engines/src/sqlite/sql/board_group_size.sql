-- board_group_size: how many tasks a group holds.
-- ?1 board  ?2 group
SELECT tasks FROM board_group WHERE board = ?1 AND name = ?2
