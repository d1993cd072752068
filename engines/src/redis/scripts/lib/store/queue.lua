-- Adds a queue with settings. A queue that was only created is a name without the rest.

local function add_queue(name, paused)
  call('ZADD', P .. 'queues', 0, name)
  call(paused and 'SADD' or 'SREM', P .. 'paused', name)
  -- Over 64 bytes, so that the leases are never a listpack, and at infinity, so that it never expires.
  call('ZADD', of(name, 'l'), 'inf', @leases.sentinel)
end
