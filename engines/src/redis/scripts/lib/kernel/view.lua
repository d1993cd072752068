-- The view of one task, from which Rust decodes it (`state.rs`).

local EDGES_SHOWN = 100

-- {id, record, the end of its lease or nothing, news, its dependencies or nothing: their counts, and unless it is slim
-- the first edges of a waiting one, at most `shown`; -1: all; and its signals from outside}; nil for an unknown task. A
-- `slim` view omits result and checkpoint, and what a completed task was given.
local function view(id, slim, shown)
  local record, batch = as_leased(id, call('HGET', T, id))
  if not record then
    return nil
  end
  local has_edges = byte(record, core_at(record) - 1 + @core.linked.at) ~= @linked.no.byte
  local entry = batch and @leases.batch .. batch.fence or id
  local expires_at = is_running(record) and call('ZSCORE', of(queue_of(record), 'l'), entry) or ''
  if slim and byte(record) == @state.completed.byte then
    local high, low = byte(record, @ending.open_length)
    record = sub(record, @record.state.at, @ending.queue.at - 1 + high * 256 + low)
      .. sub(record, #record - byte(record, @ending.worker_length.at) + 1)
  end
  local news = call('HGET', X, id) or ''
  if slim and news ~= '' then
    local fixed = byte(news) == @span.kept.byte and @span.span.last or 0
    local length = sub(news, fixed + @news.progress_length.at, fixed + @news.progress_length.last)
    news = sub(news, @record.state.at, fixed + @news.progress_length.last + length)
  end
  if not has_edges then
    return { id, record, expires_at, news, '' }
  end
  -- include edges
  local depends = call('HGET', COUNTS, id) or ''
  local signals = signals_in(depends)
  depends = sub(depends, 1, #depends - #signals)
  if not slim and byte(record) == @state.waiting.byte then
    for _, entry in ipairs(edges_of(IN, id, nil, shown or EDGES_SHOWN)) do
      local _, _, on, policy = read_edge(entry)
      depends = depends .. policy .. on .. ZERO
    end
  end
  return { id, record, expires_at, news, slim and depends or depends .. signals }
end
