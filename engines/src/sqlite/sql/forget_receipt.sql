-- forget_receipt: takes a receipt away.
-- ?1 id  ?2 revision
DELETE FROM receipt WHERE id = ?1 AND revision = ?2
