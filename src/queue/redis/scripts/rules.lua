-- The rules of src/room in Lua: time and outages (step.rs), slots (clock.rs), going in (turn.rs).

local OUTAGE_US, AHEAD_US, FRESH_US = 1500000, 250000, 150000
local SWEEP_MAX, GRANTS_MAX, LAPSE_MARKS = 100, 500, 32
-- How long a raised ceiling waits until a server that syncs every second must have it on its disk, and the
-- least by which it is raised.
local CEILING_US, CEILING_STEP = 3000000, 250000

-- Scores of many members at once: a list with false where there is none.
local function scores(key, numbers)
  local found = {}
  for from = 1, #numbers, 1000 do
    local chunk = {}
    for i = from, math.min(from + 999, #numbers) do chunk[#chunk + 1] = member(numbers[i]) end
    for _, score in ipairs(redis.call('ZMSCORE', key, unpack(chunk))) do
      found[#found + 1] = score and tonumber(score)
    end
  end
  return found
end

local function score(key, n)
  local got = redis.call('ZSCORE', key, member(n))
  return got and tonumber(got)
end

local function ready_set(n, time)
  redis.call('ZADD', RS, int(time), member(n))
  return redis.call('ZADD', RN, int(n), member(n))
end

local function ready_remove(members)
  redis.call('ZREM', RN, unpack(members))
  redis.call('ZREM', RS, unpack(members))
end

-- The oldest members with a score below a time.
local function before(key, time)
  return redis.call('ZRANGEBYSCORE', key, '-inf', '(' .. int(time), 'LIMIT', 0, SWEEP_MAX)
end

local function releasing(now)
  return lets_in(now) and now >= s.settled_at and left_in_total() > 0 and places_by_stock(now, 0) > 0
end

local function inventory()
  return math.max(div(4 * r.step_slots * 1000, s.show), r.hold_slots, r.burst)
end

local function grants_max() return 3 * r.step_slots end

local function wanted(ready)
  return minus(div(r.step_slots * 18, 10) + 1, minus(ready, div(r.step_slots * 3, 2)))
end

local function forget_present()
  redis.call('DEL', RN, RS, GR)
end

local function settle_from(now)
  if s.last > s.frontier then
    s.settled_at = now + r.step_us
    s.ramp_from = is_early(now) and 0 or s.settled_at
  end
  s.stepped = now
end

-- Ceilings: raised early, in force only once they must be durable. Comes before everything else of a verb.
local function raise_ceilings(now, joining)
  if not leased then return end
  local waited = minus(now, s.pending_since)
  if now < s.pending_since then s.pending_since = now end
  if waited >= CEILING_US then s.last_max, s.admitted_max = s.last_pending, s.admitted_pending end
  if s.last_pending > s.last_max or s.admitted_pending > s.admitted_max then return end
  local joined = div(4 * CEILING_US * minus(s.last, s.raised_from), math.max(waited, 1000))
  local more = math.max(CEILING_STEP, joined)
  local numbers = s.last + joining + div(more, 2) > s.last_max
  local admissions = s.admitted + 3 * r.step_slots > s.admitted_max
  if numbers then s.last_pending, s.raised_from = math.max(s.last_max, s.last) + more, s.last end
  if admissions then s.admitted_pending = s.admitted + 6 * r.step_slots + r.burst end
  if numbers or admissions then s.pending_since = now end
end

local function enter(now)
  if now < s.touched then
    -- What has expired by the clock as it was does not come back.
    expire(s.touched)
    local by = s.touched - now
    for _, field in ipairs({ 'clock_us', 'latest_slot', 'stepped', 'settled_at', 'ramp_from', 'stock_read_at',
      'recovers_until' }) do
      s[field] = minus(s[field], by)
    end
    if by > r.step_us then
      forget_present()
      settle_from(now)
    end
    lower_mark(now)
  elseif now - s.touched > OUTAGE_US then
    forget_present()
    settle_from(now)
  elseif releasing(now) then
    s.released = s.released + now - s.touched
  end
  if now >= s.recovers_until then s.recovers_until = 0 end
  s.touched = now
end

local function sweep(now)
  local silent = minus(now, r.step_us)
  if lets_in(now) then
    local gone = before(RS, silent)
    if #gone > 0 then ready_remove(gone) end
  end
  local lost = before(GR, silent)
  if #lost > 0 then redis.call('ZREM', GR, unpack(lost)) end
  expire(now)
  -- A pause stops lapsing but not the clock: a mark is needed until its number has lapsed too.
  for _, m in ipairs(before(AD, minus(now, r.kept_us))) do
    if tonumber(m) <= s.lapsed and not redis.call('ZSCORE', ST, m) then
      redis.call('ZREM', AD, m)
      redis.call('SREM', GO, m)
    end
  end
end

local function lapse()
  local marks = {}
  for released, frontier in string.gmatch(s.lapses, '(%d+):(%d+)') do
    marks[#marks + 1] = { tonumber(released), tonumber(frontier) }
  end
  while marks[1] and marks[1][1] + r.return_us <= s.released do
    s.lapsed = table.remove(marks, 1)[2]
  end
  local last = marks[#marks]
  if not last or last[1] + div(r.return_us, LAPSE_MARKS) <= s.released then
    marks[#marks + 1] = { s.released, s.frontier }
  end
  local texts = {}
  for i, mark in ipairs(marks) do texts[i] = int(mark[1]) .. ':' .. int(mark[2]) end
  s.lapses = table.concat(texts, ' ')
  redis.call('ZREMRANGEBYSCORE', LF, '-inf', int(s.lapsed))
end

local function step(now)
  if not releasing(now) then
    s.stepped = now
    return
  end
  local ready = redis.call('ZCARD', RN)
  local idle = s.called == s.due and s.called < s.last and wanted(ready) > 0
  if minus(now, s.stepped) < r.step_us and not idle then return end
  s.stepped = now
  local called = s.called - s.due
  if called > 0 then
    local shown = redis.call('ZCOUNT', RN, int(s.due + 1), int(s.called))
    s.show = math.min(math.max(div(s.show * 3 + div(1000 * shown, called), 4), 50), 1000)
  end
  s.due = s.called
  s.called = beyond_void(math.min(s.last, s.called + div(wanted(ready) * 1000, s.show)))
  lapse()
end

local function settle(now)
  if not releasing(now) then return end
  local first = redis.call('ZRANGEBYSCORE', RN, '-inf', int(s.due), 'LIMIT', 0, 1)[1]
  s.frontier = math.max(s.frontier, first and tonumber(first) - 1 or s.due)
end

-- Slots: a moment is microseconds and the nanoseconds below them.
local function plus_ns(us, ns, by)
  local below = ns + by % 1000
  return us + div(by, 1000) + div(below, 1000), below % 1000
end

local function minus_ns(us, ns, by)
  local whole, below = div(by, 1000), by % 1000
  local borrow = below > ns and 1 or 0
  if us < whole + borrow then return 0, 0 end
  return us - whole - borrow, ns + borrow * 1000 - below
end

-- Spacing, and how far a slot may lie before the clock.
local function spacing_at(now, ramp_from)
  local base = r.spacing_ns
  local elapsed = math.min(div(minus(now, ramp_from), 1000), 10000)
  if ramp_from == 0 or elapsed == 10000 then
    return base, math.min((r.burst_slots - 1) * base, EXACT_MAX)
  end
  local tenths = math.min(math.max(div(100000, math.max(elapsed, 1)), 10), 100)
  return div(base * tenths, 10), 0
end

local function slot_from(us, ns, now, ahead)
  us, ns = minus_ns(us, ns, ahead)
  return math.max(now, us + (ns > 0 and 1 or 0))
end

-- Slots lie at `now` or later, and after the last revocation.
local function slots_from(now) return math.max(now, s.revoked_before) end

local function slot_after(others, now, spacing, ahead)
  now = slots_from(now)
  local us, ns = now, 0
  if s.clock_us >= now then us, ns = s.clock_us, s.clock_ns end
  us, ns = plus_ns(us, ns, math.min(others * spacing, EXACT_MAX))
  return slot_from(us, ns, now, ahead)
end

-- Takes the next slot for a number, and adds both to those admitted and those inside.
local function admit(now, n, spacing, ahead, admitted, inside)
  now = slots_from(now)
  local slot = slot_from(s.clock_us, s.clock_ns, now, ahead)
  local us, ns = now, 0
  if s.clock_us >= now then us, ns = s.clock_us, s.clock_ns end
  s.clock_us, s.clock_ns = plus_ns(us, ns, spacing)
  s.latest_slot = math.max(s.latest_slot, slot)
  s.admitted = s.admitted + 1
  local m = member(n)
  admitted[#admitted + 1], admitted[#admitted + 2] = int(slot), m
  inside[#inside + 1], inside[#inside + 2] = int(slot + math.min(r.first_use_us, r.pass_us)), m
end

-- Those of `numbers` that hold a grant pick up, in order; then the smallest checked-in numbers are granted.
local function go_in(now, numbers)
  if not releasing(now) then return end
  local spacing, ahead = spacing_at(now, s.ramp_from)
  local present, ordered = {}, {}
  for _, n in ipairs(numbers) do
    if not present[n] then ordered[#ordered + 1] = n end
    present[n] = true
  end
  table.sort(ordered)
  local active, admitted, inside = active_now(), {}, {}
  if redis.call('EXISTS', GR) == 1 then
    for i, granted in ipairs(scores(GR, ordered)) do
      if granted then
        redis.call('ZREM', GR, member(ordered[i]))
        -- A cap that was lowered since, or stock that shrank: back to the line, where nobody overtakes.
        if places(now, active) <= 0 then
          ready_set(ordered[i], now)
        else
          admit(now, ordered[i], spacing, ahead, admitted, inside)
          active = active + 1
        end
      end
    end
  end
  local fresh = redis.call('ZCOUNT', GR, '(' .. int(minus(now, FRESH_US)), '+inf')
  local old = redis.call('ZCARD', GR) - fresh
  local most, taken, granted = grants_max(), {}, {}
  for _, m in ipairs(redis.call('ZRANGEBYSCORE', RN, '-inf', int(s.due), 'LIMIT', 0, GRANTS_MAX)) do
    local n = tonumber(m)
    local expected = div(fresh * most, most + 6 * old)
    local in_time = slot_after(expected, now, spacing, ahead) <= now + AHEAD_US
    local within = fresh + old < places(now, active)
    local open = present[n] or fresh + old < most
    if not (in_time and within and open) then break end
    taken[#taken + 1] = m
    if present[n] then
      admit(now, n, spacing, ahead, admitted, inside)
      active = active + 1
    else
      granted[#granted + 1] = int(now)
      granted[#granted + 1] = m
      fresh = fresh + 1
    end
  end
  for from = 1, #admitted, 2000 do
    local to = math.min(from + 1999, #admitted)
    redis.call('ZADD', AD, unpack(admitted, from, to))
    redis.call('ZADD', ST, unpack(inside, from, to))
  end
  if #taken > 0 then ready_remove(taken) end
  if #granted > 0 then redis.call('ZADD', GR, unpack(granted)) end
end

-- A sign of life of numbers that may check in.
local function check_in(now, numbers)
  local called = {}
  for _, n in ipairs(numbers) do
    if n >= 1 and n <= s.called then called[#called + 1] = n end
  end
  if #called == 0 then return end
  local admitted, granted, left = scores(AD, called), scores(GR, called), scores(LF, called)
  for i, n in ipairs(called) do
    if not (admitted[i] or granted[i] or left[i]) and (n > s.lapsed or score(RN, n)) then ready_set(n, now) end
  end
end

local WAITING, LAPSED, LEFT, UNKNOWN = 0, -1, -2, -3

-- Where numbers stand: one of the codes above, or for the admitted a slot, with the acknowledged expiry of the stay
-- in the second list.
local function standings(now, numbers)
  local admitted, left, ends = scores(AD, numbers), scores(LF, numbers), scores(ST, numbers)
  local found = {}
  for i, n in ipairs(numbers) do
    if n < 1 or n > s.last then
      found[i] = UNKNOWN
    elseif admitted[i] and ends[i] and ends[i] > now then
      found[i] = admitted[i]
    elseif admitted[i] then
      found[i] = redis.call('SISMEMBER', GO, member(n)) == 1 and LEFT or LAPSED
    elseif left[i] then
      found[i] = LEFT
    elseif n > s.lapsed or score(RN, n) or score(GR, n) then
      found[i] = WAITING
    else
      found[i] = LAPSED
    end
  end
  return found, ends
end

-- Every slot that was taken lies before this.
local function slots_to() return s.clock_us + (s.clock_ns > 0 and 1 or 0) end

local function touch() s.version = s.version + 1 end

-- What an instance knows of the room; the driver reads it in this order.
local function snapshot()
  return { s.lineage, s.epoch, s.version, s.touched, s.phase, s.reason, s.last, s.called, s.due, s.frontier,
    s.lapsed, div(wanted(0) * 1000, s.show), slots_to(), s.admitted, redis.call('ZCARD', GR), active_now(), s.departed,
    ended_to(), s.revoked_before, s.stock_known, s.stock_first, s.stock_remaining, s.stock_read_at, s.file,
    s.overrides, s.settings, s.forced, s.draw_stage, s.draw_base, s.draw_size, s.drawn_at, s.seed,
    s.draw_value, s.voids, s.lost, s.keys, leased and s.last_pending or s.last, forgets and s.admitted_pending or s.admitted }
end
