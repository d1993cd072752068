-- sent_letters: one page of the letters that an operation has sent again, whether or not they still exist.
-- ?1 operation  ?2 the first place  ?3 limit
SELECT place, task, revision
FROM item
WHERE operation = ?1 AND place >= ?2 AND outcome = 'resubmitted' AND revision IS NOT NULL
ORDER BY place
LIMIT ?3
