-- put_route: creates or replaces a routing rule.
-- ?1 name  ?2 version, -1 for every version  ?3 rule
INSERT INTO route (name, version, rule) VALUES (?1, ?2, ?3)
ON CONFLICT (name, version) DO UPDATE SET rule = excluded.rule
