-- create_board: the first commit to a board.
-- ?1 name
INSERT INTO board (name, revision, created, deleted) VALUES (?1, 0, 0, 0) RETURNING key
