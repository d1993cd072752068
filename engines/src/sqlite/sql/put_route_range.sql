-- put_route_range: creates or replaces a routing rule for a range of versions.
-- ?1 name  ?2 first version  ?3 last version  ?4 rule
INSERT INTO route_range (name, version_from, version_to, rule) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (name, version_from, version_to) DO UPDATE SET rule = excluded.rule
