-- insert_tally: the first count of a queue with a status.
-- ?1 queue  ?2 status  ?3 how many
INSERT INTO tally (queue, status, tasks) VALUES (?1, ?2, ?3)
