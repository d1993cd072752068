-- audit_board_groups: groups of a board whose count is not what is there.
-- ?1 board  ?2 at most how many
SELECT name, tasks, found
FROM (SELECT name, tasks,
             (SELECT count(*) FROM board_task t WHERE t.board = g.board AND t.group_name = g.name) AS found
      FROM board_group g
      WHERE board = ?1)
WHERE tasks <> found OR found = 0
ORDER BY name
LIMIT ?2
