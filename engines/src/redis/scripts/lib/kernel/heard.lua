-- Heartbeats of attempts, added to what earlier ones reported.

local KEPT = '-'

-- A task's news with a heartbeat added: its progress as JSON, and its checkpoint as `told`. `-` leaves what was there.
local function heard(news, progress, checkpoint)
  local span
  span, news = part_news(news or NO_TIME .. '000000')
  local progress_before, checkpoint_before = told_in(news)
  if progress == KEPT then
    progress = progress_before
  end
  checkpoint = checkpoint == KEPT and checkpoint_before or sub(checkpoint, @told.rest.at)
  return span .. NOW .. format('%06d', #progress) .. progress .. checkpoint
end
