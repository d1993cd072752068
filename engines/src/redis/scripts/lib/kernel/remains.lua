-- How the record of a completed task ends (see `remains` in the layout): with a `mark`, what it returned, and from `first` on
-- in its `lease` the parameters that are kept, and the worker. The parameters begin after `open`.
local worker_at = #lease - byte(lease, @lease.worker_length.at) + 1
local first, mark = open + 1, ''
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
if result ~= '' or first < worker_at then
  if #result ~= marked_length then
    marked_length, marked = #result, @remains.marked .. pack('>I4', #result)
  end
  mark = marked
end
