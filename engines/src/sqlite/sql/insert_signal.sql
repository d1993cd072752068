-- insert_signal: a signal that a task waits for, or waited for.
-- ?1 task  ?2 name  ?3 on_timeout  ?4 timeout  ?5 due  ?6 state  ?7 at
INSERT INTO external_signal (task, name, on_timeout, timeout, due, state, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
