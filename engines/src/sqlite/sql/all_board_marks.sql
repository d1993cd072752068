-- all_board_marks: the marks of a board's commits.
-- ?1 board
SELECT mark FROM board_mark WHERE board = ?1 ORDER BY mark
