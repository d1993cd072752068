-- The kind of a task, its name and version, and the gate of tasks that some workers do not know.

-- The indexes of name, version and key in the open part of a record, an array (`record.rs`).
local NAME_PLACE, VERSION_PLACE, KEY_PLACE = 1, 2, 7

-- The name, the key and the version in a record, after the queue's name; nothing for parts that can't be read.
local function told_by(record)
  local core = core_of(record)
  local is_read, _, open = pcall(cmsgpack.unpack_one, core, @core.queue.at - 1 + (byte(core, @core.queue_length.at) or 0))
  if not is_read or type(open) ~= 'table' then
    return nil, nil, nil
  end
  return open[NAME_PLACE], open[KEY_PLACE], open[VERSION_PLACE]
end

-- The gate for workers that know a kind of task.
local function gate_of_kind(task, version)
  return @gate.unknown .. (task or '') .. '@' .. format('%.0f', version or 0)
end
