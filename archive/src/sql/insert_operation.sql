-- insert_operation: begins an operation.
-- ?1 id  ?2 the client's key, or NULL  ?3 digest of its request  ?4 request  ?5 now
INSERT INTO operation (id, key, digest, request, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
