-- Puts a full copy of a task that failed for good on the outbox: of `id`, which ends now with `revision` and `record`.
local news, errors = call('HGET', X, id) or '', call('HGET', H, id) or ''
local lengths = format('%08d%08d%08d', #record, #news, #errors)
local key, body = revision .. id, call('HGET', B, id) or ''
call('HSET', P .. 'o', key, lengths .. record .. news .. errors .. body)
-- All have the same score, so that the order is that of the revisions.
call('ZADD', P .. 'o:order', 0, key)
