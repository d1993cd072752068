-- delete_route: removes a routing rule.
-- ?1 name  ?2 version, -1 for every version
DELETE FROM route WHERE name = ?1 AND version = ?2
