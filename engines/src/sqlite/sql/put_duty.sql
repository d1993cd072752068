-- put_duty: gives a duty to a holder.
-- ?1 name  ?2 holder  ?3 note  ?4 term  ?5 expires_at
INSERT INTO duty (name, holder, note, term, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, note = excluded.note, term = excluded.term, expires_at = excluded.expires_at
