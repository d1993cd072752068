-- delete_role: removes a role.
-- ?1 name
DELETE FROM role WHERE name = ?1
