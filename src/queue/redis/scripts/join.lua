-- join: hands out numbers in the order of the entries.
-- ARGV[5] instance  [6] sequence of the batch  [7..] entries: 16 bytes of identity, or empty
-- Answer: {'OK', snapshot, runs, exceptions}. `runs` tells the numbers in order: "+5*3" new 5, 6, 7; "=9" known;
-- "-2" two found the line full. `exceptions` are pairs of index and standing (as in advance) of those who do not
-- wait.
-- Safe to repeat: the numbers of an instance's last batches are kept, and a repeat gets them again, with
-- their standing of now and without another change.
local no = refuse(false)
if no then return no end
local now, entries = clock(), #ARGV - 6
local BATCH, REMEMBERED, KEPT_MS = P .. ':b:' .. ARGV[5], 8, 3600000

-- `numbers[i]` is false where the line was full.
local function answer(numbers, runs)
  local placed, index, exceptions = {}, {}, {}
  for i, n in ipairs(numbers) do
    if n then
      placed[#placed + 1] = n
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
  for kind, a, b in string.gmatch(runs, '([-+=])(%d+)%*?(%d*)') do
    local count = kind == '=' and 1 or tonumber(kind == '+' and b or a)
    for i = 0, count - 1 do numbers[#numbers + 1] = kind ~= '-' and tonumber(a) + i end
  end
  return numbers
end

local before_now = redis.call('HGET', BATCH, ARGV[6])
if before_now then return answer(expand(before_now), before_now) end

raise_ceilings(now, entries)
if leased and s.last + entries > s.last_max then
  save()
  return { 'LEASE' }
end
enter(now)
sweep(now)

local ready, stock = redis.call('ZCARD', RN), inventory()
local by_number, by_time = {}, {}

local function known(identity, bucket)
  local n = tonumber(redis.call('HGET', bucket, identity) or nil)
  if not n then return nil end
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
  return n
end

-- While everybody before is called and few are checked in, a new number is called and due at once.
local function call_at_once(n)
  if s.called ~= n - 1 or ready >= stock then return end
  s.called = n
  if s.due == n - 1 then s.due = n end
  ready = ready + 1
  by_number[#by_number + 1], by_number[#by_number + 2] = int(n), member(n)
  by_time[#by_time + 1], by_time[#by_time + 2] = int(now), member(n)
end

local numbers, runs = {}, {}
local first, count, full = 0, 0, 0

local function close_runs()
  if count > 0 then runs[#runs + 1] = '+' .. int(first) .. '*' .. int(count) end
  if full > 0 then runs[#runs + 1] = '-' .. int(full) end
  count, full = 0, 0
end

for i = 1, entries do
  local identity = ARGV[6 + i]
  local bucket, n
  if identity ~= '' then
    local a, b = string.byte(identity, 1, 2)
    bucket = P .. ':i:' .. int((a * 256 + b) % BUCKETS)
    n = known(identity, bucket)
  end
  if n then
    close_runs()
    runs[#runs + 1] = '=' .. int(n)
  elseif s.last - s.frontier >= r.waiting_max then
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
  if n then present[#present + 1] = n end
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
