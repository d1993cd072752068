-- put_workflow_definition: stores the definition of a new run.
-- ?1 id  ?2 definition
INSERT INTO workflow_definition (id, definition) VALUES (?1, ?2)
