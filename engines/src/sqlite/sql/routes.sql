-- put_role: creates or replaces a role.
-- ?1 name  ?2 queues  ?3 config
INSERT INTO role (name, queues, config) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET queues = excluded.queues, config = excluded.config

-- all_roles: the roles and the queues they serve.
SELECT name, queues, config FROM role

-- delete_role: removes a role.
-- ?1 name
DELETE FROM role WHERE name = ?1

-- put_route: creates or replaces a routing rule.
-- ?1 name  ?2 version, -1 for every version  ?3 rule
INSERT INTO route (name, version, rule) VALUES (?1, ?2, ?3)
ON CONFLICT (name, version) DO UPDATE SET rule = excluded.rule

-- put_route_range: creates or replaces a routing rule for a range of versions.
-- ?1 name  ?2 first version  ?3 last version  ?4 rule
INSERT INTO route_range (name, version_from, version_to, rule) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (name, version_from, version_to) DO UPDATE SET rule = excluded.rule

-- all_routes: the routing rules, and the first and last version each is for.
SELECT name, max(version, 0) AS version_from, iif(version < 0, 4294967295, version) AS version_to, rule FROM route
UNION ALL
SELECT name, version_from, version_to, rule FROM route_range

-- delete_route: removes a routing rule.
-- ?1 name  ?2 version, -1 for every version
DELETE FROM route WHERE name = ?1 AND version = ?2

-- delete_route_range: removes a routing rule for a range of versions.
-- ?1 name  ?2 first version  ?3 last version
DELETE FROM route_range WHERE name = ?1 AND version_from = ?2 AND version_to = ?3
