-- The labels of a board's tasks.

-- The entries of a list of labels, each with its lengths in front. `last` is the last byte of the list.
local function labels_between(text, at, last)
  local labels = {}
  while at <= last do
    local head = sub(text, at, at + @label.rest.at - 2)
    local next_at = at + @label.rest.at - 1 + sub(head, @label.key_length) + sub(head, @label.value_length)
    labels[#labels + 1] = sub(text, at, next_at - 1)
    at = next_at
  end
  return labels
end

local NONE = {}

-- The labels of a content, which begins somewhere in a text.
local function labels_of(text, at)
  if not has_labels(text, at) then
    return NONE
  end
  local length = sub(text, at - 1 + @content.labels_length.at, at - 1 + @content.labels_length.last)
  local type_length = sub(text, at - 1 + @content.type_length.at, at - 1 + @content.type_length.last)
  local first = at - 1 + @content.rest.at + type_length
  return labels_between(text, first, first + length - 1)
end
