-- How the record of a completed task ends, in `remains`: what it was given and what it returned (see `remains` in the layout),
-- and the worker. The parameters in its `lease` begin after `open`.
local worker_at = #lease - byte(lease, @lease.worker_length.at) + 1
local is_large, first = byte(lease, @lease.size.at) == @size.large.byte, open + 1
local length = is_large and call('HSTRLEN', B, id) or worker_at - first
if not queue.most_kept then
  queue.most_kept = tonumber(call('HGET', P .. 'keeps', queue.name) or @limit.keep_parameters)
end
if length > queue.most_kept then
  first = worker_at
  if is_large then
    bodies_gone[#bodies_gone + 1] = id
  end
end
local remains = sub(lease, first)
if result ~= '' then
  remains = @remains.marked .. pack('>I4', #result) .. result .. remains
elseif first < worker_at then
  remains = @remains.marked .. '\0\0\0\0' .. remains
end
