-- move_board_task: the new place of a task that a commit updates or a take leases.
-- ?1 key  ?2 revision  ?3 group  ?4 time  ?5 owner
UPDATE board_task SET revision = ?2, group_name = ?3, at = ?4, owner = ?5 WHERE key = ?1
