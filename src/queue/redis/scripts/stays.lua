-- stays: uses and ends of stays, and the end log.
-- ARGV[5] last sequence read of the log  [6] how many numbers were used  [7..] these numbers, then pairs of an ended
-- number and 1, or 0 where an operator revoked it
-- Answer: {'OK', snapshot, expiries of the used (0: it no longer lives), ended numbers, sequence of the last}.
-- Safe to repeat: a stay that was prolonged is prolonged no further by the same use than the time that passed, and
-- one that ended has ended.
local no = refuse() or draw_due()
if no then return no end
local now, from, count = clock(), tonumber(ARGV[5]), tonumber(ARGV[6])
raise_ceilings(now, 0)
enter(now)
sweep(now)

local used, expiries, prolonged = {}, {}, {}
for i = 1, count do used[i] = tonumber(ARGV[6 + i]) end
local slots = scores(AD, used)
for i, before in ipairs(scores(ST, used)) do
  expiries[i] = 0
  if before and before > now and slots[i] then
    expiries[i] = math.max(before, math.min(now + r.idle_us, slots[i] + r.pass_us))
    if expiries[i] > before then
      prolonged[#prolonged + 1], prolonged[#prolonged + 2] = int(expiries[i]), member(used[i])
    end
  end
end
if #prolonged > 0 then redis.call('ZADD', ST, unpack(prolonged)) end

local numbers, gone, over, entries, said = {}, {}, {}, {}, {}
for i = 7 + count, #ARGV, 2 do numbers[#numbers + 1] = tonumber(ARGV[i]) end
for i, ends in ipairs(scores(ST, numbers)) do
  local n = numbers[i]
  if ends and ends > now and not said[n] then
    said[n] = true
    over[#over + 1] = member(n)
    entries[#entries + 1] = log_entry(n, ends)
    if ARGV[6 + count + 2 * i] == '1' then gone[#gone + 1] = member(n) end
  end
end
if #over > 0 then
  redis.call('ZREM', ST, unpack(over))
  s.departed = s.departed + #over
  log_ends(entries)
end
if #gone > 0 then redis.call('SADD', GO, unpack(gone)) end
touch()
save()

local to = ended_to()
if from > to then from = 0 end
local skip, ended = minus(from + 1, s.log_first), {}
for _, entry in ipairs(redis.call('LRANGE', EN, int(skip), int(skip + LOG_READ_MAX - 1))) do
  ended[#ended + 1] = tonumber(string.match(entry, '^%d+'))
end
return { 'OK', snapshot(), expiries, ended, s.log_first + skip + #ended - 1 }
