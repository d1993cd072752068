-- set_dependencies: a task has another number of dependencies than before.
-- ?1 key  ?2 total
INSERT INTO dependent (task, total, signals) VALUES (?1, ?2, 0)
ON CONFLICT (task) DO UPDATE SET total = ?2
