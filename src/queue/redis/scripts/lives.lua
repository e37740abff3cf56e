-- What more than one verb does to the whole room or to one place (src/room: core.rs, lives.rs, line.rs).

local function bucket_of(identity)
  local a, b = string.byte(identity, 1, 2)
  return P .. ':i:' .. int((a * 256 + b) % BUCKETS)
end

-- Everybody joins anew; numbers go on counting.
local function flush_to(lineage)
  s.seed, s.draw_value, s.draw_stage, s.draw_base, s.draw_size = '', '', DRAW_NONE, 0, 0
  s.drawn_at = 0
  s.lineage, s.admitted, s.lapses, s.voids, s.lost, s.keys = lineage, 0, '', '', '', ''
  s.called, s.due, s.frontier, s.lapsed = s.last, s.last, s.last, s.last
  s.log_first = ended_to() + 1
  s.departed, s.ghosts, s.revoked_before = 0, 0, 0
  s.stock_known, s.stock_first, s.stock_remaining, s.stock_read_at = 0, 0, 0, 0
  redis.call('UNLINK', RN, RS, GR, AD, LF, ST, GO, EN)
  for from = 0, BUCKETS - 1, 1024 do
    local buckets = {}
    for b = from, from + 1023 do buckets[#buckets + 1] = P .. ':i:' .. int(b) end
    redis.call('UNLINK', unpack(buckets))
  end
end

-- Other rules are in force; slots that were taken stay where they are.
local function rules_changed(now)
  read_rules()
  local spacing, ahead = spacing_at(now, 0)
  local us, ns = plus_ns(math.max(now, s.latest_slot), 0, ahead + spacing)
  if us < s.clock_us or (us == s.clock_us and ns < s.clock_ns) then s.clock_us, s.clock_ns = us, ns end
end

local function give_up(n)
  local placed = n >= 1 and n <= s.last and n > s.lapsed
  if placed and not score(AD, n) and redis.call('ZADD', LF, int(n), member(n)) == 1 then
    ready_remove({ member(n) })
    redis.call('ZREM', GR, member(n))
  end
end
