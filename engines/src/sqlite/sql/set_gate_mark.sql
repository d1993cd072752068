-- set_gate_mark: notes that tasks of a gate with a rate have started.
-- ?1 queue  ?2 gate  ?3 mark
INSERT INTO gate_mark (queue, gate, mark) VALUES (?1, ?2, ?3) ON CONFLICT (queue, gate) DO UPDATE SET mark = excluded.mark
