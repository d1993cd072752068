-- insert_dependency: a task waits for another.
-- ?1 key of the predecessor  ?2 the revision with which the edge is made  ?3 key of the successor  ?4 policy
INSERT INTO dependency (predecessor, since, successor, policy) VALUES (?1, ?2, ?3, ?4)
