-- sent_letters: the letters that an operation has sent again, a page at a time; whether or not they are still there.
-- ?1 operation  ?2 the place from which on  ?3 at most how many
SELECT place, task, revision
FROM item
WHERE operation = ?1 AND place >= ?2 AND outcome = 'resubmitted' AND revision IS NOT NULL
ORDER BY place
LIMIT ?3
