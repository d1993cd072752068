-- find_board_mark: whether a commit was applied under a mark.
-- ?1 board  ?2 mark
SELECT 1 FROM board_mark WHERE board = ?1 AND mark = ?2
