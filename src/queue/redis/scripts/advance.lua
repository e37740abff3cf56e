-- advance: one tick of going in.
-- ARGV[5..] numbers whose holders are asking right now
-- Answer: {'OK', snapshot, standings}; a standing is 0 waiting, -1 lapsed, -2 left, -3 unknown, or a slot, followed
-- by the acknowledged expiry of the stay.
-- Safe to repeat: checking in twice is checking in, and who has picked a slot up finds the same slot.
local no = refuse() or draw_due()
if no then return no end
local now, numbers = clock(), {}
for i = 5, #ARGV do numbers[#numbers + 1] = tonumber(ARGV[i]) end
raise_ceilings(now, 0)
enter(now)
sweep(now)
check_in(now, numbers)
step(now)
go_in(now, numbers)
settle(now)
touch()
save()
local found, ends = standings(now, numbers)
local told = {}
for i, standing in ipairs(found) do
  told[#told + 1] = standing
  if standing > 0 then told[#told + 1] = ends[i] end
end
return { 'OK', snapshot(), told }
