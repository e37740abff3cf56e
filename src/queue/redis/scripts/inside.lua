-- Those who are inside, and how many more may follow (caps.rs, stock.rs, stays.rs and ended.rs of src/room).

local EXPIRE_MAX, LOG_MAX, LOG_READ_MAX, LOG_KEPT_US = 1000, 1000000, 1000, 120000000

local function left_in_total()
  if r.total_max < 0 then return math.huge end
  local max = r.total_max
  if forgets then max = math.min(max, s.admitted_max) end
  return minus(max, s.admitted)
end

-- Visitors whom stock can serve besides `active` inside; no bound while stock is not known.
local function places_by_stock(now, active)
  if r.each < 0 or s.stock_known == 0 or minus(now, s.stock_read_at) > r.stale_us then return math.huge end
  if s.stock_remaining == 0 then return 0 end
  local claimed = 1000 * (s.stock_first - s.stock_remaining)
  local serves = 1000 * s.stock_remaining + r.reserve * r.each + minus(claimed, s.departed * r.each)
  return minus(div(serves + r.each - 1, r.each), active)
end

-- Stays that live, and after a takeover those that may have been lost.
local function active_now() return redis.call('ZCARD', ST) + s.ghosts end

-- How many more may be admitted right now, open grants not taken off.
local function places(now, active)
  local by_active = r.active_max < 0 and math.huge or minus(r.active_max, active)
  return math.min(left_in_total(), by_active, places_by_stock(now, active))
end

local function ended_to() return s.log_first + redis.call('LLEN', EN) - 1 end

local function log_entry(n, ends) return int(n) .. ':' .. int(ends + LOG_KEPT_US) end

-- Adds entries of numbers whose stays were to last longer.
local function log_ends(entries)
  local length = 0
  for from = 1, #entries, 1000 do
    length = redis.call('RPUSH', EN, unpack(entries, from, math.min(from + 999, #entries)))
  end
  if length > LOG_MAX then
    redis.call('LTRIM', EN, length - LOG_MAX, -1)
    s.log_first = s.log_first + length - LOG_MAX
  end
end

-- Takes out stays that expired, and what the end log need not keep any longer.
local function expire(now)
  if now >= s.ghosts_until then
    s.departed, s.ghosts = s.departed + s.ghosts, 0
    local over = redis.call('ZRANGEBYSCORE', ST, '-inf', int(now), 'LIMIT', 0, EXPIRE_MAX)
    if #over > 0 then
      redis.call('ZREM', ST, unpack(over))
      s.departed = s.departed + #over
    end
  end
  local oldest = redis.call('LINDEX', EN, 0)
  if not oldest or tonumber(string.match(oldest, ':(%d+)')) > now then return end
  local needless = 0
  for _, entry in ipairs(redis.call('LRANGE', EN, 0, EXPIRE_MAX - 1)) do
    if tonumber(string.match(entry, ':(%d+)')) > now then break end
    needless = needless + 1
  end
  redis.call('LTRIM', EN, needless, -1)
  s.log_first = s.log_first + needless
end

-- The clock was set back before the mark of the last revocation: what it voided since goes to the log.
local function lower_mark(now)
  if s.revoked_before <= now then return end
  local voided = redis.call('ZRANGEBYSCORE', AD, int(now), '(' .. int(s.revoked_before), 'WITHSCORES')
  local entries = {}
  for i = 1, #voided, 2 do
    entries[#entries + 1] = log_entry(tonumber(voided[i]), tonumber(voided[i + 1]) + r.pass_us)
  end
  log_ends(entries)
  s.revoked_before = now
end

