-- extend_lease: renews a lease whose fence agrees, even one that had run out.
-- ?1 id  ?2 fence  ?3 lease_expires_at
-- Answers the key and whether a cancel is requested; nothing when the lease is lost.
UPDATE task SET lease_expires_at = ?3 WHERE id = ?1 AND fence = ?2 AND status = 3 RETURNING key, cancel_requested
