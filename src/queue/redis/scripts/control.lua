-- control: an operator's change, or new rules from the file.
-- ARGV[5] what: pause [6] reason | resume | open | close | follow | flush [6] lineage
--       | revoke | stock [6] remaining
--       | keys [6] fingerprint
--       | seed [6] lineage [7] seed, hex | value [6] public value of the draw
--       | rules [6] settings version they were made from [7] file, JSON [8] overrides, JSON [9] in force, numbers
-- Answer: {'OK', snapshot}, {'STALE'} if the settings have changed since they were read, or {'WAIT'} while what was
-- lost is put right.
-- Safe to repeat: each leads to the same state however often it is done; a flush to the lineage that the room
-- already has does nothing, for it is the repeat of one that was done.
local no = refuse()
if no then return no end
local now, what = clock(), ARGV[5]
if now < s.recovers_until and what ~= 'stock' then return { 'WAIT' } end
if what == 'rules' and tonumber(ARGV[6]) ~= s.settings then return { 'STALE' } end
if what == 'flush' and ARGV[6] == s.lineage then return { 'OK', snapshot() } end
local due = draw_due()
if due then return due end
raise_ceilings(now, 0)
enter(now)
local function return_grants()
  local granted = redis.call('ZRANGE', GR, 0, -1, 'WITHSCORES')
  for i = 1, #granted, 2 do ready_set(tonumber(granted[i]), tonumber(granted[i + 1])) end
  redis.call('DEL', GR)
end

if what == 'pause' then
  s.phase, s.reason = 'paused', ARGV[6]
  return_grants()
elseif what == 'resume' then
  s.phase, s.reason = 'open', ''
elseif what == 'rules' then
  s.file, s.overrides, s.rules, s.settings = ARGV[7], ARGV[8], ARGV[9], s.settings + 1
  rules_changed(now)
elseif what == 'revoke' then
  -- Every pass whose slot was given so far. Where a clock was set back, some slots lie after the mark too: these
  -- ends are in the log.
  local mark = math.max(now, s.latest_slot) + 1
  s.revoked_before = math.max(s.revoked_before, mark)
  local slots = redis.call('ZRANGEBYSCORE', AD, int(mark), '+inf')
  table.sort(slots)
  local entries = {}
  for _, m in ipairs(slots) do
    local ends = redis.call('ZSCORE', ST, m)
    if ends then entries[#entries + 1] = log_entry(tonumber(m), tonumber(ends)) end
  end
  log_ends(entries)
  s.departed, s.ghosts = s.departed + active_now(), 0
  redis.call('UNLINK', ST)
elseif what == 'stock' then
  s.stock_remaining, s.stock_read_at = tonumber(ARGV[6]), now
  s.stock_first = math.max(s.stock_first, s.stock_remaining)
  s.stock_known = 1
elseif what == 'open' or what == 'follow' then
  s.forced = what == 'open' and 'open' or ''
elseif what == 'close' then
  s.forced = 'closed'
  return_grants()
elseif what == 'seed' then
  if ARGV[6] == s.lineage and s.seed == '' then s.seed = ARGV[7] end
elseif what == 'value' then
  if s.draw_stage == DRAW_FROZEN and r.draw == 2 and s.draw_value == '' then s.draw_value = ARGV[6] end
elseif what == 'keys' then
  if s.keys == '' then s.keys = ARGV[6] end
elseif what == 'flush' then
  flush_to(ARGV[6])
end
touch()
save()
return { 'OK', snapshot() }
