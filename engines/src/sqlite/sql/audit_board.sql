-- audit_board: the counts of the first board after a key, and what is there.
-- ?1 the board after which to go on
SELECT key, name, revision, created - deleted,
       (SELECT count(*) FROM board_task t WHERE t.board = b.key),
       (SELECT coalesce(max(revision), 0) FROM board_task t WHERE t.board = b.key)
FROM board b
WHERE key > ?1
ORDER BY key
LIMIT 1
