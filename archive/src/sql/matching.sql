-- matching: the conditions of a filter; replaces the word MATCHING in other statements. Each line is one condition.
-- Only the conditions whose parameters are given are used, so that an index can serve them.
-- :queue  :name  :version  :status  :state  :error a part of the message, in lower case  :fingerprint
-- :failed_after  :failed_before, that point excluded
queue = :queue
name = :name
version = :version
status = :status
state = :state
instr(lower(error), :error) > 0
fingerprint = :fingerprint
failed_at >= :failed_after
failed_at < :failed_before
