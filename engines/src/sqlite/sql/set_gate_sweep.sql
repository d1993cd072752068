-- set_gate_sweep: the gates of a queue after this one must be checked again.
-- ?1 queue  ?2 gate
INSERT INTO gate_sweep (queue, after) VALUES (?1, ?2) ON CONFLICT (queue) DO UPDATE SET after = excluded.after
