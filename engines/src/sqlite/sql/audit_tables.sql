-- audit_tables: the next table of the file, in the order of names.
-- ?1 the name of the one before
SELECT name FROM sqlite_schema WHERE type = 'table' AND name > ?1 ORDER BY name LIMIT 1
