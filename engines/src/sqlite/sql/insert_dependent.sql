-- insert_dependent: how many dependencies a new task has, and how many are signalled already.
-- ?1 key  ?2 total  ?3 signals
INSERT INTO dependent (task, total, signals) VALUES (?1, ?2, ?3)
