-- restore: signed tickets whose places this server may have lost (src/room/lives.rs).
-- ARGV[5] numbers of drawn places, as far as known (draw.lua)  [6..] pairs: the place of a ticket, and the 16 bytes
-- of its identity or nothing
-- Answer: {'OK', snapshot, pairs of index and place of those who have another place}. Safe to repeat: a place that was
-- put back is there.
local no = refuse() or draw_due()
if no then return no end
local BEYOND_TICKET, NUMBER_MAX = 250000, 4503599627370496
local now, map, places, identities, wanted = clock(), read_map(ARGV[5]), {}, {}, {}
local function row(identity) return tonumber(redis.call('HGET', bucket_of(identity), identity) or nil) end
for i = 6, #ARGV, 2 do
  local place, identity = tonumber(ARGV[i]), ARGV[i + 1]
  places[#places + 1], identities[#identities + 1] = place, identity
  if identity ~= '' then
    wanted[#wanted + 1] = place
    wanted[#wanted + 1] = row(identity)
  end
end
local wanted_first = map_wanted(map, wanted)
if wanted_first then return wanted_first end
raise_ceilings(now, 0)
enter(now)

local function put_back(place, identity)
  if place > s.last and place < NUMBER_MAX then skip_to(place + BEYOND_TICKET) end
  if identity == '' or not within(s.lost, place) then return place end
  local other = row(identity)
  if other and other ~= place then
    local inside = standings(now, { map[other] or other })[1] > 0
    local kept = inside and other or math.min(other, place)
    local gone = kept == place and other or place
    give_up(map[gone] or gone)
    if kept == other then return other end
  end
  redis.call('HSET', bucket_of(identity), identity, int(place))
  return place
end

local moved = {}
for i, place in ipairs(places) do
  local put = put_back(place, identities[i])
  if put ~= place then moved[#moved + 1], moved[#moved + 2] = i, put end
end
if leased and s.last > s.last_max then
  s.last_max, s.last_pending, s.pending_since, s.raised_from = s.last, s.last + CEILING_STEP, now, s.last
end
touch()
save()
return { 'OK', snapshot(), moved }
