-- drop_board_group: a group that holds no task any more.
-- ?1 board  ?2 group
DELETE FROM board_group WHERE board = ?1 AND name = ?2 AND tasks = 0
