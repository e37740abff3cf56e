-- drawn: makes the draw that another verb found due, and could not make for want of numbers.
-- ARGV[5] the numbers of the places that were given up in the lobby, "place:number place:number"
-- Answer: {'OK', snapshot}, or {'DRAW', ...} again if more were given up meanwhile.
-- Safe to repeat: once the draw is made, the room is only read.
local no = refuse()
if no then return no end
local wanted_still = draw_due()
if wanted_still then
  local now, map, left, missing = clock(), read_map(ARGV[5]), {}, false
  for _, m in ipairs(left_in_lobby()) do
    local n = map[tonumber(m)]
    missing = missing or not n
    left[#left + 1] = n
  end
  if missing then return wanted_still end
  redis.call('ZREMRANGEBYSCORE', LF, '(' .. int(s.draw_base), int(s.draw_base + s.draw_size))
  for from = 1, #left, 1000 do
    local chunk = {}
    for i = from, math.min(from + 999, #left) do
      chunk[#chunk + 1], chunk[#chunk + 2] = int(left[i]), member(left[i])
    end
    redis.call('ZADD', LF, unpack(chunk))
  end
  s.draw_stage, s.drawn_at = DRAW_DRAWN, now
  if s.called == s.draw_base then
    s.called = math.min(s.last, s.called + inventory())
    s.due, s.stepped = s.called, now
  end
  touch()
  save()
end
return { 'OK', snapshot() }
