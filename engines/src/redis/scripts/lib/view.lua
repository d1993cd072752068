-- Everything about one task, as Rust puts it together (`state.rs`).

-- {id, record, the end of its lease or nothing, news}; nil for an unknown task. A `slim` view leaves result and
-- checkpoint out.
local function view(id, slim)
  local record = call('HGET', T, id)
  if not record then
    return nil
  end
  local expires_at = is_running(record) and call('ZSCORE', of(queue_of(record), 'l'), id) or ''
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
  return { id, record, expires_at, news }
end
