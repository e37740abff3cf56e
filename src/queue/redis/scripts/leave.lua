-- leave: gives places up.
-- ARGV[5] numbers of drawn places, as far as known (draw.lua)  [6..] places
-- Answer: {'OK', snapshot}. Safe to repeat: a place that was given up, picked up or never handed out is left
-- alone.
local no = refuse(false) or draw_due()
if no then return no end
local now, map, places = clock(), read_map(ARGV[5]), {}
for i = 6, #ARGV do places[#places + 1] = tonumber(ARGV[i]) end
local wanted_first = map_wanted(map, places)
if wanted_first then return wanted_first end
raise_ceilings(now, 0)
enter(now)
for _, place in ipairs(places) do
  local n = map[place] or place
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
