#!lua flags=no-writes
-- Tasks of a board by their revisions.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 board, 3 bytes after which no more records are added, 4- revisions.
-- Returns the records, or nothing for what does not exist; fewer, but one at least, if these are many bytes.

-- include base board

local records, bytes = {}, 0
for i = 4, #ARGV do
  local record = call('HGET', of_board('t', ARGV[2]), ARGV[i])
  records[#records + 1] = record
  bytes = bytes + (record and #record or 0)
  if bytes > tonumber(ARGV[3]) then
    break
  end
end
return records
