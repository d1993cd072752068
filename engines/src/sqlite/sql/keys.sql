-- put_key: creates or replaces an access key.
-- ?1 id  ?2 config
INSERT INTO access_key (id, config) VALUES (?1, ?2)
ON CONFLICT (id) DO UPDATE SET config = excluded.config

-- all_keys: the access keys.
SELECT config FROM access_key

-- delete_key: removes an access key.
-- ?1 id
DELETE FROM access_key WHERE id = ?1
