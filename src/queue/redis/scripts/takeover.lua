-- takeover: begins a new life of the room on this server, after a restart or a failover, and takes up what a caller
-- has seen of an ended life and this server has not (src/room/lives.rs).
-- ARGV[2,3] are those of what the caller saw.
-- ARGV[5] the owner that the caller found: compared and set, so of many callers one begins the life
-- ARGV[6] '1' if the caller brings what it saw: [7] lineage  [8,9] how far numbers and admissions may have gone
--     [10] last  [11] admitted  [12] departed  [13..16] called, due, frontier, lapsed  [17] revoked_before
--     [18] phase  [19] reason  [20] forced  [21..24] draw: stage, base, size, at  [25] seed  [26] public value
--     [27] rules of the file, JSON  [28] overrides, JSON  [29] rules in force, numbers  [30] voids  [31] slots_to
-- Answer: {'OK', snapshot}. Safe to repeat: the owner has changed by then, and what was taken up is known.
-- With ceilings the new life starts at the highest that may have been in force. Nobody is granted until those who are
-- called had a step to check in again; and where something may be lost, nobody gets a place until every instance
-- could tell what it saw.
local SETTLE_US, LIVES_MAX = 3000000, 8
if not load() then return { 'NOROOM' } end
local now, me, epoch, version = clock(), run_id(), tonumber(ARGV[2]), tonumber(ARGV[3])
local told = ARGV[6] == '1' and is_behind(epoch, version)
local saw = {}
for i = 8, 17 do saw[i] = tonumber(ARGV[i] or 0) end
for i = 21, 24 do saw[i] = tonumber(ARGV[i] or 0) end
saw[31] = tonumber(ARGV[31] or 0)

local function note_life(ended, at)
  local lives, found = {}, false
  for _, life in ipairs(ranges(s.lives)) do
    if life[1] == ended then
      life[2], found = math.max(life[2], at), true
    end
    lives[#lives + 1] = life
  end
  if not found then lives[#lives + 1] = { ended, at } end
  table.sort(lives, function(a, b) return a[1] < b[1] end)
  while #lives > LIVES_MAX do table.remove(lives, 1) end
  s.lives = written(lives)
end

local function add_ghosts(count)
  if count == 0 then return end
  s.ghosts = s.ghosts + count
  local inside = r.step_us + math.min(math.max(r.first_use_us, r.idle_us), r.pass_us)
  s.ghosts_until = math.max(s.ghosts_until, now + inside)
end

-- Slots before this were taken by a life of which no more is known.
local function go_to(taken_to)
  if slots_to() < taken_to then s.clock_us, s.clock_ns = taken_to, 0 end
end

-- What only grows.
local function take_up_counts()
  add_ghosts(minus(saw[11], s.admitted))
  if saw[10] > s.last then
    s.lost = add_range(s.lost, s.last, saw[10], s.lapsed)
    s.last = saw[10]
  end
  void_unless_told(ARGV[30], saw[10])
  s.admitted, s.departed = math.max(s.admitted, saw[9], saw[11]), math.max(s.departed, saw[12])
  s.called, s.due = math.max(s.called, saw[13]), math.max(s.due, saw[14])
  s.frontier, s.lapsed = math.max(s.frontier, saw[15]), math.max(s.lapsed, saw[16])
  s.revoked_before = math.max(s.revoked_before, saw[17])
  go_to(saw[31])
  s.latest_slot = math.max(s.latest_slot, saw[31])
end

-- An operator's word that was lost, and the draw.
local function obey_again()
  s.phase, s.reason, s.forced = ARGV[18], ARGV[19], ARGV[20]
  -- A draw is made again, and the same: the places that were given up in the lobby are not renumbered yet.
  if saw[21] ~= DRAW_DRAWN or s.draw_stage ~= DRAW_DRAWN then s.draw_stage = math.min(saw[21], DRAW_FROZEN) end
  s.draw_base, s.draw_size, s.drawn_at, s.seed, s.draw_value = saw[22], saw[23], saw[24], ARGV[25], ARGV[26]
  s.file, s.overrides, s.rules, s.settings = ARGV[27], ARGV[28], ARGV[29], s.settings + 1
  rules_changed(now)
end

local function take_up()
  local said = now < s.recovers_until
  if said and s.lineage ~= ARGV[7] then
    flush_to(ARGV[7])
    s.called, s.due, s.frontier, s.lapsed = saw[13], saw[14], saw[15], saw[16]
  end
  if s.lineage == ARGV[7] then
    take_up_counts()
    if said then obey_again() end
  end
  skip_to(math.max(saw[8], saw[10]))
end

-- Whether this server was another's replica: then it may lack what too few were asked to acknowledge.
local function promoted()
  local id = string.match(redis.call('INFO', 'replication'), 'master_replid2:(%x+)')
  return id ~= nil and string.find(id, '[^0]') ~= nil
end

local function begin_life()
  enter(now)
  note_life(s.epoch, s.version)
  s.epoch = math.max(s.epoch + 1, div(now, 1000000))
  if told then
    note_life(epoch, version)
    s.epoch = math.max(s.epoch, epoch + 1)
  end
  s.owner, s.recovers_until = me, (leased or told or promoted()) and now + SETTLE_US or 0
  forget_present()
  -- Ends that were lost had sequences: the log goes on above them, and every instance reads it anew.
  if leased or told then s.log_first = s.log_first + LOG_MAX end
  local last, admitted = leased and s.last_pending or s.last, s.admitted
  if forgets then
    -- Admissions and renewals of the last seconds are inside all the same, until what their passes may print.
    if r.total_max >= 0 then admitted = s.admitted_pending end
    add_ghosts(div(CEILING_US * 1000, r.spacing_ns) + 1 + r.burst)
  end
  if told then take_up() end
  skip_to(last)
  s.admitted = math.max(s.admitted, admitted)
  -- A caller that knows of nothing: the last life may have given out slots as if every open grant were picked up.
  if leased and ARGV[6] ~= '1' then go_to(now + AHEAD_US + grants_max() * div(r.spacing_ns + 999, 1000)) end
  settle_from(now)
  s.settled_at = math.max(s.settled_at, s.recovers_until)
  if leased or told then
    s.ramp_from = is_early(now) and 0 or s.settled_at
  end
end

local replaced = s.owner ~= me and s.owner == ARGV[5]
local older = epoch > s.epoch or (epoch == s.epoch and version > s.version)
if replaced or (told and (older or s.owner ~= me)) then
  begin_life()
elseif told then
  note_life(epoch, version)
  take_up()
else
  return { 'OK', snapshot() }
end
if leased and s.last >= s.last_max then
  s.last_max, s.last_pending = s.last, s.last + CEILING_STEP
  s.admitted_max, s.admitted_pending = s.admitted, s.admitted + 6 * r.step_slots + r.burst
  s.pending_since, s.raised_from = now, s.last
end
touch()
save()
return { 'OK', snapshot() }
