-- supersede: a task has ended anew; its earlier letters are history.
-- ?1 id  ?2 revision of the new one
UPDATE letter SET state = 'superseded' WHERE id = ?1 AND revision < ?2 AND state = 'dead'
