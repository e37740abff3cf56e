-- leave: gives places up.
-- ARGV[5] numbers of drawn places, as far as known (draw.lua)  [6..] places
-- Answer: {'OK', snapshot}. Safe to repeat: a place that was given up, picked up or never handed out is left
-- alone.
local no = refuse() or draw_due()
if no then return no end
local now, map, places = clock(), read_map(ARGV[5]), {}
for i = 6, #ARGV do places[#places + 1] = tonumber(ARGV[i]) end
local wanted_first = map_wanted(map, places)
if wanted_first then return wanted_first end
raise_ceilings(now, 0)
enter(now)
for _, place in ipairs(places) do
  give_up(map[place] or place)
end
settle(now)
touch()
save()
return { 'OK', snapshot() }
