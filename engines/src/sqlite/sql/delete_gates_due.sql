-- delete_gates_due: the gates of a queue that is deleted.
-- ?1 queue
DELETE FROM gate_due WHERE queue = ?1
