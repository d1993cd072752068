-- all_routes: the routing rules, and the first and last version each is for.
SELECT name, max(version, 0), iif(version < 0, 4294967295, version), rule FROM route
UNION ALL
SELECT name, version_from, version_to, rule FROM route_range
