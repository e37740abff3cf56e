-- stays: uses and ends of stays, and the end log.
-- ARGV[5] last sequence read of the log  [6] how many numbers were used  [7..] these numbers, then pairs of an ended
-- number and 1, or 0 where an operator revoked it
-- Answer: {'OK', snapshot, expiries of the used (0: it no longer lives), ended numbers, sequence of the last}.
-- Safe to repeat: a stay that was prolonged is prolonged no further by the same use than the time that passed, and
-- one that ended has ended.
local no = refuse(false) or draw_due()
if no then return no end
local now, from, count = clock(), tonumber(ARGV[5]), tonumber(ARGV[6])
raise_ceilings(now, 0)
enter(now)
sweep(now)

local function lives_until(n)
  local ends = score(ST, n)
  return ends and ends > now and ends
end

local expiries = {}
for i = 1, count do
  local n = tonumber(ARGV[6 + i])
  local before, slot = lives_until(n), score(AD, n)
  expiries[i] = 0
  if before and slot then
    expiries[i] = math.max(before, math.min(now + r.idle_us, slot + r.pass_us))
    if expiries[i] > before then redis.call('ZADD', ST, int(expiries[i]), member(n)) end
  end
end
for i = 7 + count, #ARGV, 2 do
  local n = tonumber(ARGV[i])
  local ends = lives_until(n)
  if ends then
    redis.call('ZREM', ST, member(n))
    s.departed = s.departed + 1
    log_end(n, ends)
    if ARGV[i + 1] == '1' then redis.call('SADD', GO, member(n)) end
  end
end
touch()
save()

local to = ended_to()
if from > to then from = 0 end
local skip, ended = minus(from + 1, s.log_first), {}
for _, entry in ipairs(redis.call('LRANGE', EN, int(skip), int(skip + LOG_READ_MAX - 1))) do
  ended[#ended + 1] = tonumber(string.match(entry, '^%d+'))
end
return { 'OK', snapshot(), expiries, ended, s.log_first + skip + #ended - 1 }
