-- insert_parent: a predecessor of a new task.
-- ?1 key of the task  ?2 place of the predecessor  ?3 its id
INSERT INTO parent (successor, place, predecessor) VALUES (?1, ?2, ?3)
