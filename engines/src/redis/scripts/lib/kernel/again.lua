-- Builds the lease of a ready task with a history: from `record`, with `fence`, for `worker`.
local high_count, low_count = byte(record, @lease.attempt)
local core = sub(record, @lease.core.at, #record - byte(record, @lease.worker_length.at))
lease = @state.started .. fence .. sub(record, @lease.position.at, @lease.ready_at.last) .. STAMP
  .. pack('>I2', min(high_count * 256 + low_count + 1, 65535)) .. sub(record, @lease.crashes.at, @lease.blames.last)
  .. string.char(#worker) .. core .. worker
