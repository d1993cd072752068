-- advance_letter: notes what another archive knows of a letter that is new or dead here. Changes one row or none.
-- ?1 id  ?2 revision  ?3 state  ?4 when it was sent, or NULL  ?5 the operation that sent it, or NULL  ?6 whether it is new
UPDATE letter SET state = ?3, resubmitted_at = ?4, operation = ?5
WHERE id = ?1 AND revision = ?2 AND (state = 'dead' OR ?6)
