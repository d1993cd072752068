-- set_parameters: gives a task other parameters; those that lie beside it are another statement's.
-- ?1 key  ?2 type  ?3 bytes, or NULL when they lie beside it
UPDATE task SET parameters_type = ?2, parameters = ?3 WHERE key = ?1
