-- delete_signals: deletes the signals of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM external_signal WHERE task IN (SELECT value FROM json_each(?1))
