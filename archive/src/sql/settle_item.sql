-- settle_item: notes the result of an item. Returns the item's letter.
-- ?1 operation  ?2 place  ?3 outcome  ?4 detail
UPDATE item SET outcome = ?3, detail = ?4 WHERE operation = ?1 AND place = ?2 RETURNING letter
