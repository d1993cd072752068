-- What a queue needs beside its configuration.

local function add_queue(name, paused)
  call('SADD', P .. 'queues', name)
  call(paused and 'SADD' or 'SREM', P .. 'paused', name)
  -- Over 64 bytes, so that the leases are never a listpack, and at infinity, so that it never expires.
  call('ZADD', of(name, 'l'), 'inf', string.rep('#', 65))
end
