-- all_routes: the routing rules; version -1 is every version.
SELECT name, version, rule FROM route
