#!lua flags=allow-oom
-- Does some of what earlier steps left of edges: signals ends, stores edges, lets go of held results. For backups.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time.
-- Returns how many entries are left on the due list.

-- include base numbers wake moves

if call('EXISTS', P .. 'g:due') == 1 then
  -- include put_off
  signal_put_off()
  write_moves(true)
end
return call('ZCARD', P .. 'g:due')
