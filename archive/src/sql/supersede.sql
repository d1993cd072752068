-- supersede: a task has ended again, so its earlier dead letters are superseded.
-- ?1 id  ?2 revision of the new one
UPDATE letter SET state = 'superseded' WHERE id = ?1 AND revision < ?2 AND state = 'dead'
