-- sent_letters: the letters of an operation, a page at a time.
-- ?1 operation  ?2 the place from which on  ?3 at most how many
SELECT item.place, letter.id, letter.revision
FROM item JOIN letter ON letter.key = item.letter
WHERE item.operation = ?1 AND item.place >= ?2
ORDER BY item.place
LIMIT ?3
