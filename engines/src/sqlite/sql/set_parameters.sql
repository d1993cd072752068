-- set_parameters: gives a task other parameters; another statement sets those in a side table.
-- ?1 key  ?2 type  ?3 bytes, or NULL when they are in a side table
UPDATE task SET parameters_type = ?2, parameters = ?3 WHERE key = ?1
