-- parents_of: the predecessors of a task, as its submission named them.
-- ?1 id  ?2 1 to leave out those that it holds no longer
SELECT predecessor FROM parent
WHERE successor = (SELECT key FROM task WHERE id = ?1 AND (?2 = 0 OR status < 4)) AND holds >= ?2
ORDER BY place
