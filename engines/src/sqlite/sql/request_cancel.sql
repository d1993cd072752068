-- request_cancel: marks a running task; whatever is settled for it afterwards makes it cancelled.
-- ?1 key
UPDATE task SET cancel_requested = 1 WHERE key = ?1
