-- audit_board_labels: of which tasks of boards labels are stored, and whether those are there.
-- ?1 the task after which to go on, ?2 at most how many
SELECT DISTINCT task, EXISTS (SELECT 1 FROM board_task WHERE key = board_label.task) FROM board_label
WHERE task > ?1
ORDER BY task
LIMIT ?2
