-- put_in_outbox: keeps a copy of a task that failed for good.
-- ?1 revision  ?2 id  ?3 copy
INSERT INTO outbox (revision, id, copy) VALUES (?1, ?2, ?3)
