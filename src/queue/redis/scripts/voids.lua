-- Ranges of numbers, "from:to from:to": numbers after the first up to the second (src/room/voids.rs). `s.voids` are
-- those that nobody was told of, `s.lost` those whose identities may have been lost.

local VOIDS_MAX = 32

local function ranges(text)
  local all = {}
  for from, to in string.gmatch(text, '(%d+):(%d+)') do all[#all + 1] = { tonumber(from), tonumber(to) } end
  return all
end

local function written(all)
  local texts = {}
  for i, range in ipairs(all) do texts[i] = int(range[1]) .. ':' .. int(range[2]) end
  return table.concat(texts, ' ')
end

local function add_range(text, from, to, settled)
  local kept = {}
  for _, range in ipairs(ranges(text)) do
    if range[2] > settled then kept[#kept + 1] = range end
  end
  local last = kept[#kept]
  if last and last[2] == from then last[2] = to else kept[#kept + 1] = { from, to } end
  if #kept > VOIDS_MAX then
    local nearest = 1
    for i = 2, #kept - 1 do
      if kept[i + 1][1] - kept[i][2] < kept[nearest + 1][1] - kept[nearest][2] then nearest = i end
    end
    kept[nearest][2] = table.remove(kept, nearest + 1)[2]
  end
  return written(kept)
end

-- What a caller knows who saw the numbers up to `told`: these were told, but for the ranges that it brings.
local function void_unless_told(known, told)
  local all = ''
  for _, range in ipairs(ranges(known)) do
    if range[1] < told then all = add_range(all, range[1], math.min(range[2], told), 0) end
  end
  for _, range in ipairs(ranges(s.voids)) do
    if range[2] > told then all = add_range(all, math.max(range[1], told), range[2], 0) end
  end
  s.voids = all
end

-- A horizon that reaches into a range goes on behind it.
local function beyond_void(called)
  for _, range in ipairs(ranges(s.voids)) do
    if called >= range[1] and called < range[2] then return range[2] end
  end
  return called
end

local function within(text, n)
  for _, range in ipairs(ranges(text)) do
    if n > range[1] and n <= range[2] then return true end
  end
  return false
end

-- How many between the frontier and the end of the line are void.
local function void_in_line()
  local count = 0
  for _, range in ipairs(ranges(s.voids)) do
    count = count + minus(math.min(range[2], s.last), math.max(range[1], s.frontier))
  end
  return count
end

-- Goes on from a number that may have been handed out before the last writes were lost.
local function skip_to(at_least)
  if at_least <= s.last then return end
  -- Places in a lobby are drawn with all others: their numbers may be anywhere.
  if s.draw_stage ~= DRAW_LOBBY then s.voids = add_range(s.voids, s.last, at_least, s.frontier) end
  s.lost = add_range(s.lost, s.last, at_least, s.lapsed)
  if s.due == s.last then s.due = at_least end
  if s.called == s.last then s.called = at_least end
  s.last = at_least
end
