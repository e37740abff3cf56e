-- The schedule of src/room/schedule.rs in Lua: what a moment is, by the times of the rules and the operator's word.

-- `s.draw_stage`: no draw; lobby indices are handed out; the count is fixed; every index has a number.
local DRAW_NONE, DRAW_LOBBY, DRAW_FROZEN, DRAW_DRAWN = 0, 1, 2, 3

local function stage(now)
  if s.forced ~= '' then return s.forced end
  if now >= r.closes then return 'closed' end
  if now < r.doors then return 'scheduled' end
  return now < r.opens and 'lobby' or 'open'
end

local function is_early(now)
  local at = stage(now)
  return at == 'scheduled' or at == 'lobby'
end

local function draw_pending() return s.draw_stage == DRAW_LOBBY or s.draw_stage == DRAW_FROZEN end

local function lets_in(now) return s.phase == 'open' and stage(now) == 'open' and not draw_pending() end

-- How a run of joins is written that gets no new place: nil if it may.
local function shut(now)
  local at = stage(now)
  return at == 'scheduled' and '!' or at == 'closed' and 'x' or nil
end
