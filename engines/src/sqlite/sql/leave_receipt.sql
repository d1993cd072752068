-- leave_receipt: notes that a copy was sent again.
-- ?1 id  ?2 revision
-- Changes one row, or none when it was noted before.
INSERT INTO receipt (id, revision) VALUES (?1, ?2) ON CONFLICT DO NOTHING
