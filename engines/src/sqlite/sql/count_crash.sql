-- count_crash: notes one more lost lease of a task.
-- ?1 key
UPDATE task SET crashes = crashes + 1 WHERE key = ?1
