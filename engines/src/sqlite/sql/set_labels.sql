-- set_labels: stores the labels of a new task.
-- ?1 key  ?2 labels
UPDATE task SET labels = ?2 WHERE key = ?1
