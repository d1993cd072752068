-- settle_item: notes what became of an item.
-- ?1 operation  ?2 place  ?3 outcome  ?4 detail
-- Answers the item's letter.
UPDATE item SET outcome = ?3, detail = ?4 WHERE operation = ?1 AND place = ?2 RETURNING letter
