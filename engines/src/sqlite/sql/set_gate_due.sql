-- set_gate_due: a gate may let tasks pass from a time on.
-- ?1 queue  ?2 gate  ?3 due
INSERT INTO gate_due (queue, gate, due) VALUES (?1, ?2, ?3) ON CONFLICT (queue, gate) DO UPDATE SET due = excluded.due
