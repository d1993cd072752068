-- put_signal_due: the end of a task is still to be signalled to some of its successors, or the task still holds
-- predecessors.
-- ?1 key  ?2 id  ?3 only edges from before this revision; 0 for none  ?4 status
INSERT INTO signal_due (predecessor, id, before, status) VALUES (?1, ?2, ?3, ?4)
