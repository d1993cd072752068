-- get_catalogue: a catalogue of tasks, unless its time is over.
-- ?1 id  ?2 now
SELECT tasks FROM catalogue WHERE id = ?1 AND expires_at > ?2
