-- leave: gives places up.
-- ARGV[5..] numbers
-- Answer: {'OK', snapshot}. Safe to repeat: a place that was given up, picked up or never handed out is left
-- alone.
local no = refuse(false)
if no then return no end
local now = clock()
raise_ceilings(now, 0)
enter(now)
for i = 5, #ARGV do
  local n = tonumber(ARGV[i])
  local placed = n >= 1 and n <= s.last and n > s.lapsed
  if placed and not score(AD, n) and redis.call('ZADD', LF, int(n), member(n)) == 1 then
    ready_remove({ member(n) })
    redis.call('ZREM', GR, member(n))
  end
end
settle(now)
touch()
save()
return { 'OK', snapshot() }
