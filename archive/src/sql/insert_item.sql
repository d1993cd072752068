-- insert_item: adds a task to an operation.
-- ?1 operation  ?2 place  ?3 task  ?4 letter, or NULL  ?5 outcome, or NULL when it is to be sent  ?6 detail
INSERT INTO item (operation, place, task, letter, outcome, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
