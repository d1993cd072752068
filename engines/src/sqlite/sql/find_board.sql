-- find_board: a board's key and its counter.
-- ?1 name
SELECT key, revision FROM board WHERE name = ?1
