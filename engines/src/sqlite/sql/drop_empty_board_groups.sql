-- drop_empty_board_groups: groups of a board that hold no task.
-- ?1 board
DELETE FROM board_group
WHERE board = ?1
  AND NOT EXISTS (SELECT 1 FROM board_task t WHERE t.board = board_group.board AND t.group_name = board_group.name)
