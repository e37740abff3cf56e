-- join: hands out numbers in the order of the entries.
-- ARGV[5] instance  [6] sequence of the batch  [7] numbers of drawn places, as far as known (draw.lua)
-- ARGV[8..] entries: 16 bytes of identity, or empty
-- Answer: {'OK', snapshot, runs, exceptions}. `runs` tells the numbers in order: "+5*3" new 5, 6, 7; "=9" known;
-- "-2" two found the line full, "!2" the doors not open, "x2" the room closed. `exceptions` are pairs of index and
-- standing (as in advance) of those who do not wait.
-- Safe to repeat: the numbers of an instance's last batches are kept, and a repeat gets them again, with
-- their standing of now and without another change.
local no = refuse()
if no then return no end
local now, entries, map = clock(), #ARGV - 7, read_map(ARGV[7])
local BATCH, REMEMBERED, KEPT_MS = P .. ':b:' .. ARGV[5], 8, 3600000

-- `numbers[i]` is false where no place was given.
local function answer(numbers, runs)
  local placed, index, exceptions = {}, {}, {}
  for i, n in ipairs(numbers) do
    if n then
      placed[#placed + 1] = map[n] or n
      index[#placed] = i
    end
  end
  local found, ends = standings(now, placed)
  for i, standing in ipairs(found) do
    if standing ~= WAITING then
      exceptions[#exceptions + 1] = index[i]
      exceptions[#exceptions + 1] = standing
      if standing > 0 then exceptions[#exceptions + 1] = ends[i] end
    end
  end
  return { 'OK', snapshot(), runs, exceptions }
end

local function expand(runs)
  local numbers = {}
  for kind, a, b in string.gmatch(runs, '([-+=!x])(%d+)%*?(%d*)') do
    local count = kind == '=' and 1 or tonumber(kind == '+' and b or a)
    for i = 0, count - 1 do numbers[#numbers + 1] = (kind == '+' or kind == '=') and tonumber(a) + i end
  end
  return numbers
end

local before_now = redis.call('HGET', BATCH, ARGV[6])
if before_now then
  local placed = expand(before_now)
  return map_wanted(map, placed) or answer(placed, before_now)
end
if now < s.recovers_until then return { 'WAIT' } end
local due = draw_due()
if due then return due end

if s.draw_stage == DRAW_DRAWN then
  local places = {}
  for i = 1, entries do
    local identity = ARGV[7 + i]
    places[i] = identity ~= '' and tonumber(redis.call('HGET', bucket_of(identity), identity) or nil) or false
  end
  local wanted_first = map_wanted(map, places)
  if wanted_first then return wanted_first end
end

raise_ceilings(now, entries)
if leased and s.last + entries > s.last_max then
  save()
  return { 'LEASE' }
end
enter(now)
sweep(now)
draw_joining(now)

local ready, stock = redis.call('ZCARD', RN), inventory()
local by_number, by_time = {}, {}

local function known(identity, bucket)
  local place = tonumber(redis.call('HGET', bucket, identity) or nil)
  if not place then return nil end
  local n = map[place] or place
  local standing = standings(now, { n })[1]
  if standing ~= WAITING and standing <= 0 then return nil end
  local size = #by_number
  if size > 0 then
    redis.call('ZADD', RN, unpack(by_number))
    redis.call('ZADD', RS, unpack(by_time))
    by_number, by_time = {}, {}
  end
  check_in(now, { n })
  ready = redis.call('ZCARD', RN)
  return place
end

-- While everybody before is called and few are checked in, a new number is called and due at once.
local function call_at_once(n)
  if draw_pending() or s.called ~= n - 1 or ready >= stock then return end
  s.called = n
  if s.due == n - 1 and not just_drawn(now) then s.due = n end
  ready = ready + 1
  by_number[#by_number + 1], by_number[#by_number + 2] = int(n), member(n)
  by_time[#by_time + 1], by_time[#by_time + 2] = int(now), member(n)
end

local numbers, runs = {}, {}
local first, count, full, no_place = 0, 0, 0, shut(now)
local void = void_in_line()

local function close_runs()
  if count > 0 then runs[#runs + 1] = '+' .. int(first) .. '*' .. int(count) end
  if full > 0 then runs[#runs + 1] = (no_place or '-') .. int(full) end
  count, full = 0, 0
end

for i = 1, entries do
  local identity = ARGV[7 + i]
  local bucket, n
  if identity ~= '' then
    bucket = bucket_of(identity)
    n = known(identity, bucket)
  end
  if n then
    close_runs()
    runs[#runs + 1] = '=' .. int(n)
  elseif no_place or s.last - s.frontier - void >= r.waiting_max then
    if count > 0 then close_runs() end
    full = full + 1
    n = false
  else
    s.last = s.last + 1
    n = s.last
    if bucket then redis.call('HSET', bucket, identity, int(n)) end
    call_at_once(n)
    if full > 0 then close_runs() end
    if count == 0 then first = n end
    count = count + 1
  end
  numbers[i] = n
end
close_runs()
if #by_number > 0 then
  redis.call('ZADD', RN, unpack(by_number))
  redis.call('ZADD', RS, unpack(by_time))
end

local present = {}
for _, n in ipairs(numbers) do
  if n then present[#present + 1] = map[n] or n end
end
step(now)
go_in(now, present)
settle(now)
touch()
local text = table.concat(runs, ' ')
redis.call('HSET', BATCH, ARGV[6], text)
redis.call('HDEL', BATCH, int(tonumber(ARGV[6]) - REMEMBERED))
redis.call('PEXPIRE', BATCH, KEPT_MS)
save()
return answer(numbers, text)
