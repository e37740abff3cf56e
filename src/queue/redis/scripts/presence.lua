-- presence: who in line is really there. The rules of src/queue/presence/fold.rs.
--   :p    hash    version, made, frontier, last, use_from, clock, birth, drawn, ages, parts
--   :p:s  string  bitmap by number: shown     :p:v  string  live     :p:h:K  string  heard in part K of the clock
--   :p:l  zset    numbers that left, until the next version, or while they would be young
-- ARGV[5] the caller's version  [6] length of a part, microseconds  [7] base and [8] bytes of what was heard
--     [9..] numbers that left
-- Answer: {'OK', version, frontier, last, use_from, now, base, shown, live}; the last three only for a caller
-- with another version. Safe to repeat: hearing twice is hearing.
local no = refuse()
if no then return no end
local now = clock()
local PH, SHOWN, LIVE, GONE = P .. ':p', P .. ':p:s', P .. ':p:v', P .. ':p:l'
local EVERY, AHEAD, STRIDE, YOUNG, PARTS, LEFT_MAX = 1000000, 1500000, 2000000, 15000000, 6, 10000
local NAMES = { 'version', 'made', 'frontier', 'last', 'use_from', 'clock', 'birth', 'drawn', 'ages', 'parts' }
local p, part_us = {}, tonumber(ARGV[6])
for i, value in ipairs(redis.call('HMGET', PH, unpack(NAMES))) do
  p[NAMES[i]] = i > 8 and (value or '') or tonumber(value or 0)
end
if p.version == 0 then p.birth, p.last = s.frontier, s.frontier end

local function heard_key(part) return P .. ':p:h:' .. int(part) end

local function parts()
  local all = {}
  for part in string.gmatch(p.parts, '%d+') do all[#all + 1] = tonumber(part) end
  return all
end

-- Sets the bits of the numbers after `from` up to `to`.
local function fill(key, from, to)
  local n = from + 1
  while n <= to and n % 8 ~= 0 do
    redis.call('SETBIT', key, int(n), 1)
    n = n + 1
  end
  local bytes = div(to + 1 - n, 8)
  if bytes > 0 then
    redis.call('SETRANGE', key, int(div(n, 8)), string.rep('\255', bytes))
    n = n + bytes * 8
  end
  while n <= to do
    redis.call('SETBIT', key, int(n), 1)
    n = n + 1
  end
end

-- The key of the present part.
local function present()
  local all, part = parts(), div(p.clock, part_us)
  if #all == 0 or all[#all] < part then
    all[#all + 1] = part
    p.parts = table.concat(all, ' ')
  end
  return heard_key(all[#all])
end

-- The same, but for the numbers that nobody was told of.
local function fill_told(key, from, to)
  for _, range in ipairs(ranges(s.voids)) do
    if range[2] > from and range[1] < to then
      fill(key, from, math.min(range[1], to))
      from = math.max(from, range[2])
    end
  end
  fill(key, from, to)
end

local drawn_to = s.draw_stage == DRAW_DRAWN and s.draw_base + s.draw_size or 0
if drawn_to > 0 and drawn_to ~= p.drawn then
  p.drawn = drawn_to
  for _, part in ipairs(parts()) do redis.call('UNLINK', heard_key(part)) end
  p.parts = ''
  redis.call('DEL', GONE)
  fill(present(), s.draw_base, drawn_to)
  fill(SHOWN, s.draw_base, drawn_to)
end

local base, bytes = tonumber(ARGV[7]), ARGV[8]
if #bytes > 0 then
  local key, mine, theirs = present(), P .. ':p:x', P .. ':p:y'
  redis.call('SET', mine, bytes)
  redis.call('SET', theirs, redis.call('GETRANGE', key, int(base), int(base + #bytes - 1)))
  redis.call('BITOP', 'OR', mine, mine, theirs)
  redis.call('SETRANGE', key, int(base), redis.call('GET', mine))
  redis.call('DEL', mine, theirs)
end

for i = 9, #ARGV do
  if tonumber(ARGV[i]) <= s.last and redis.call('ZCARD', GONE) < LEFT_MAX then
    redis.call('ZADD', GONE, ARGV[i], ARGV[i])
  end
end

-- Numbers after this one joined a moment ago.
local function young_from()
  local ages = {}
  for at, last in string.gmatch(p.ages, '(%d+):(%d+)') do ages[#ages + 1] = { tonumber(at), tonumber(last) } end
  local since = p.clock - YOUNG
  while ages[2] and ages[2][1] <= since do table.remove(ages, 1) end
  local young = p.birth
  if ages[1] and ages[1][1] <= since then young = ages[1][2] end
  ages[#ages + 1] = { p.clock, s.last }
  for i, age in ipairs(ages) do ages[i] = int(age[1]) .. ':' .. int(age[2]) end
  p.ages = table.concat(ages, ' ')
  return young
end

local function fold()
  if p.version > 0 then p.clock = p.clock + math.min(minus(now, p.made), STRIDE) end
  local young, oldest, kept, keys = young_from(), minus(div(p.clock, part_us), PARTS), {}, {}
  for _, part in ipairs(parts()) do
    if part >= oldest then
      kept[#kept + 1], keys[#keys + 1] = int(part), heard_key(part)
    else
      redis.call('UNLINK', heard_key(part))
    end
  end
  p.parts = table.concat(kept, ' ')
  redis.call('DEL', LIVE)
  if #keys > 0 then redis.call('BITOP', 'OR', LIVE, unpack(keys)) end
  fill_told(LIVE, young, s.last)
  fill_told(SHOWN, p.last, s.last)
  for _, number in ipairs(redis.call('ZRANGE', GONE, 0, -1)) do
    redis.call('SETBIT', SHOWN, number, 0)
    redis.call('SETBIT', LIVE, number, 0)
    for _, key in ipairs(keys) do redis.call('SETBIT', key, number, 0) end
  end
  redis.call('ZREMRANGEBYSCORE', GONE, '-inf', int(young))
  redis.call('BITOP', 'AND', SHOWN, SHOWN, LIVE)
  p.version, p.made, p.use_from = p.version + 1, now, now + AHEAD
  p.frontier, p.last = math.max(p.frontier, s.frontier), math.max(p.last, s.last)
end

if p.version == 0 or now < p.made or now - p.made >= EVERY then fold() end

local changes = {}
for i, name in ipairs(NAMES) do
  changes[#changes + 1] = name
  changes[#changes + 1] = i > 8 and p[name] or int(p[name])
end
redis.call('HSET', PH, unpack(changes))

local answer = { 'OK', p.version, p.frontier, p.last, p.use_from, now }
if tonumber(ARGV[5]) ~= p.version then
  local from, to = div(p.frontier, 8), div(p.last, 8)
  answer[7] = from
  answer[8] = redis.call('GETRANGE', SHOWN, int(from), int(to))
  answer[9] = redis.call('GETRANGE', LIVE, int(from), int(to))
end
return answer
