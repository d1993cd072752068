-- any_chosen: whether a client chose the id of any of these tasks.
-- ?1 keys of tasks, a JSON array
SELECT EXISTS (SELECT 1 FROM task WHERE key IN (SELECT value FROM json_each(?1)) AND id_is_chosen)
