-- delete_gate_marks: where the rates stand of the gates of a queue that is deleted.
-- ?1 queue
DELETE FROM gate_mark WHERE queue = ?1
