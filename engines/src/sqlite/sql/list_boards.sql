-- list_boards: a page of the boards, with their counters and the number of their tasks.
-- ?1 the name after which to go on  ?2 at most how many
SELECT name, revision, created - deleted FROM board WHERE name > ?1 ORDER BY name LIMIT ?2
