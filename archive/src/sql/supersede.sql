-- supersede: of the dead letters of a task, those before its latest letter are superseded.
-- ?1 id
UPDATE letter SET state = 'superseded'
WHERE id = ?1 AND state = 'dead' AND revision < (SELECT max(revision) FROM letter WHERE id = ?1)
