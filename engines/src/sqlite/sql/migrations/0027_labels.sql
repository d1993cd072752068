-- The labels of a task, as JSON. NULL for a task without any.
ALTER TABLE task ADD COLUMN labels TEXT;
