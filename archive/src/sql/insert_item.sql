-- insert_item: adds a task to an operation.
-- ?1 operation  ?2 place  ?3 task  ?4 letter, or NULL  ?5 its revision, or NULL  ?6 outcome, or NULL when it is to be sent
-- ?7 detail
INSERT INTO item (operation, place, task, letter, revision, outcome, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
