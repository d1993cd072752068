-- The kind that ready tasks have in common, for the choice of the workers to wake. Included only where some worker refuses
-- kinds.

-- include records kind

-- So many tasks are compared.
local MOST_ALIKE = 16

-- The gate of the kind that all these tasks have; nothing if they differ, are too many, or one has no record.
local function gate_in_common(ids)
  if #ids == 0 or #ids > MOST_ALIKE then
    return nil
  end
  local gate
  for i, record in ipairs(call('HMGET', T, unpack(ids))) do
    local task, _, version
    if record then
      task, _, version = told_by(record)
    end
    local its_gate = task and gate_of_kind(task, version)
    if not its_gate or i > 1 and its_gate ~= gate then
      return nil
    end
    gate = its_gate
  end
  return gate
end
