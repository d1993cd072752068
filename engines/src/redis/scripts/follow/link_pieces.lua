#!lua flags=allow-oom
-- Stores further edges of tasks that wait for many others, which the steps that stored the tasks left.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time.
-- Returns how many pieces are left.

-- include base numbers wake moves

if call('EXISTS', P .. 'g:pieces') == 1 then
  -- include link_pieces
  link_pieces()
end
return call('LLEN', P .. 'g:pieces')
