-- put_schedule: stores a schedule.
-- ?1 name  ?2 revision  ?3 next_at  ?4 entry
INSERT INTO schedule (name, revision, next_at, entry) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, next_at = excluded.next_at, entry = excluded.entry
