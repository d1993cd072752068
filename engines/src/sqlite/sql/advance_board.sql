-- advance_board: the counts of a board after a change.
-- ?1 board  ?2 the latest revision given  ?3 tasks created  ?4 tasks deleted
UPDATE board SET revision = ?2, created = created + ?3, deleted = deleted + ?4 WHERE key = ?1
