-- The draw of src/room/draw in Lua. Which number an index gets is not computed here: whoever calls knows the
-- permutation, and a script that needs numbers of places asks for them before it has changed anything but the
-- frozen count. `{'DRAW', snapshot, places}` wants the draw made by drawn.lua, with the numbers of the places that
-- were given up; `{'MAP', snapshot, places}` wants the same call again with the numbers of these.

-- "place:number place:number" as a table.
local function read_map(text)
  local numbers = {}
  for place, n in string.gmatch(text, '(%d+):(%d+)') do numbers[tonumber(place)] = tonumber(n) end
  return numbers
end

-- Whether a place is one of the lobby that was drawn.
local function is_drawn(place)
  return s.draw_stage == DRAW_DRAWN and place > s.draw_base and place <= s.draw_base + s.draw_size
end

-- The answer that asks for the numbers of those of `places` that `map` lacks; nil if it has all.
local function map_wanted(map, places)
  local missing = {}
  for _, place in ipairs(places) do
    if place and is_drawn(place) and not map[place] then missing[#missing + 1] = int(place) end
  end
  if #missing > 0 then return { 'MAP', snapshot(), missing } end
end

local function left_in_lobby()
  return redis.call('ZRANGEBYSCORE', LF, '(' .. int(s.draw_base), int(s.draw_base + s.draw_size))
end

-- Freezes the count when that is due; the answer that asks for the draw when that is. Where the last seconds may be lost the count is
-- frozen early by the time that a write needs to be safe, so that no later life can draw by another one.
local function draw_due()
  local now = clock()
  if s.draw_stage == DRAW_LOBBY and r.draw == 0 then s.draw_stage = DRAW_NONE end
  if not draw_pending() then return nil end
  local at = stage(now)
  local soon = forgets and at == 'lobby' and now + CEILING_US >= r.opens
  if s.draw_stage == DRAW_LOBBY and (at == 'open' or soon) then
    s.draw_stage, s.frozen_at = DRAW_FROZEN, now
    s.draw_base = math.max(s.draw_base, s.called)
    s.draw_size = s.last - s.draw_base
  end
  if s.draw_stage ~= DRAW_FROZEN or at ~= 'open' then return nil end
  if s.seed == '' or (r.draw == 2 and s.draw_value == '') then return nil end
  if now < s.frozen_at then s.frozen_at = now end
  if forgets and now - s.frozen_at < CEILING_US then return nil end
  save()
  local places = left_in_lobby()
  for i, m in ipairs(places) do places[i] = int(tonumber(m)) end
  return { 'DRAW', snapshot(), places }
end

-- Whether the draw was made less than a step ago: whoever comes only now is not due before the lobby could ask.
local function just_drawn(now)
  return s.draw_stage == DRAW_DRAWN and s.drawn_at <= now and now - s.drawn_at < r.step_us
end

-- The first who comes to a lobby with a draw begins it.
local function draw_joining(now)
  if s.draw_stage == DRAW_NONE and r.draw > 0 and is_early(now) then
    s.draw_stage, s.draw_base = DRAW_LOBBY, s.last
  end
end
