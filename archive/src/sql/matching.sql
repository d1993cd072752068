-- matching: whether a letter matches a filter; put in place of the word MATCHING in other statements. What is NULL does
-- not restrict.
-- :queue  :name  :version  :status  :state  :error a part of the message, in lower case  :fingerprint
-- :failed_from  :failed_until, that point excluded
((:queue IS NULL OR queue = :queue) AND (:name IS NULL OR name = :name) AND (:version IS NULL OR version = :version)
 AND (:status IS NULL OR status = :status) AND (:state IS NULL OR state = :state)
 AND (:error IS NULL OR instr(lower(error), :error) > 0) AND (:fingerprint IS NULL OR fingerprint = :fingerprint)
 AND (:failed_from IS NULL OR failed_at >= :failed_from) AND (:failed_until IS NULL OR failed_at < :failed_until))
