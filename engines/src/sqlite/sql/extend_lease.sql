-- extend_lease: renews a lease, even one that had run out.
-- ?1 key  ?2 lease_expires_at
UPDATE task SET lease_expires_at = ?2 WHERE key = ?1
