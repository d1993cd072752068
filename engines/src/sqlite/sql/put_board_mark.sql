-- put_board_mark: a commit is applied under a mark.
-- ?1 board  ?2 mark
INSERT INTO board_mark (board, mark) VALUES (?1, ?2)
