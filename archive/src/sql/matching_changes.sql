-- matching_changes: the conditions of a filter; replaces the word MATCHING in other statements. Each line is one condition.
-- Only the conditions whose parameters are given are used, so that an index can serve them.
-- :key  :operation  :object  :result  :from, that point included  :to, that point excluded
key = :key
operation = :operation
object = :object
result = :result
at >= :from
at < :to
