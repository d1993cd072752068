-- The metadata of a task, as JSON: its labels, and what later versions add to it. NULL for a task without any.
ALTER TABLE task RENAME COLUMN labels TO metadata;
UPDATE task SET metadata = json_object('labels', json(metadata)) WHERE metadata IS NOT NULL;
