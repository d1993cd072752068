-- recount_board: the counts of a board by what is there. Its counter is at least its tasks' highest revision.
-- ?1 board
UPDATE board
SET created = deleted + (SELECT count(*) FROM board_task WHERE board = ?1),
    revision = max(revision, (SELECT coalesce(max(revision), 0) FROM board_task WHERE board = ?1))
WHERE key = ?1
