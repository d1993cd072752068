-- delete_route_range: removes a routing rule for a range of versions.
-- ?1 name  ?2 first version  ?3 last version
DELETE FROM route_range WHERE name = ?1 AND version_from = ?2 AND version_to = ?3
