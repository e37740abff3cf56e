-- The state of one room, and what every script begins and ends with.
--
-- Together with inside.lua and rules.lua this is the room of src/room, verb for verb and number for number; the
-- conformance suite compares the two on random histories. Change them together.
--
-- KEYS[1]   rl:{room}; every other key of the room begins with it, so all of them live in one slot:
--   :s   hash    the numbers that describe the room (FIELDS below)
--   :rn  zset    checked in and not granted: number by number
--   :rs  zset    the same numbers by last sign of life
--   :g   zset    granted and not picked up, by the time of the grant
--   :a   zset    picked up, by slot
--   :l   zset    places given up, by number
--   :st  zset    stays: admissions that live, by acknowledged expiry
--   :x   set     admissions that were ended on purpose
--   :e   list    the end log: "number:kept until", the first with sequence log_first
--   :i:N hash    identities (16 bytes) -> number, in 2^14 buckets, so that each stays small and compact
--   :b:I hash    the last batches of instance I -> the numbers that were handed out
-- ARGV[1]   the time in microseconds; empty: the server's own clock (anything else is for tests)
-- ARGV[2,3] epoch and version that the caller has seen
-- ARGV[4]   what may be lost with this server: '0' nothing that was acknowledged (durability = "replicas"), '1' the last
--           seconds ("memory"), '2' what a replica lags ("disk"). With 1 and 2 numbers stay below durable ceilings, with
--           1 admissions too
-- ARGV[5..] per script
--
-- Answers: {'OK', snapshot, ...} | {'NOROOM'} | {'ROLLBACK'} | {'OWNER', owner} | {'LEASE'} | {'WAIT'} | {'STALE'} |
--          {'DRAW', ...} | {'MAP', ...} (draw.lua).
-- Whatever is not OK changed nothing but a ceiling or the frozen count of a draw. Times and
-- numbers are whole and below 2^53.

local P = KEYS[1]
local S, RN, RS, GR, AD, LF = P .. ':s', P .. ':rn', P .. ':rs', P .. ':g', P .. ':a', P .. ':l'
local ST, GO, EN = P .. ':st', P .. ':x', P .. ':e'
local BUCKETS = 16384
local EXACT_MAX = 9007199254740991

local FIELDS = { 'lineage', 'owner', 'file', 'overrides', 'rules', 'phase', 'reason', 'lapses',
  'forced', 'seed', 'draw_value', 'voids', 'lost', 'lives', 'keys',
  'epoch', 'version', 'settings', 'last', 'called', 'due', 'frontier', 'lapsed', 'clock_us', 'clock_ns',
  'latest_slot', 'stepped', 'touched', 'settled_at', 'ramp_from', 'show', 'released', 'admitted',
  'last_max', 'last_pending', 'admitted_max', 'admitted_pending', 'pending_since', 'raised_from',
  'departed', 'log_first', 'revoked_before', 'stock_known', 'stock_first', 'stock_remaining', 'stock_read_at',
  'ghosts', 'ghosts_until', 'draw_stage', 'draw_base', 'draw_size', 'frozen_at', 'drawn_at', 'recovers_until' }
local TEXTS = 15

-- Derived from the rules in force by the driver, in this order.
local RULES = { 'spacing_ns', 'burst', 'burst_slots', 'hold_slots', 'step_slots', 'step_us', 'return_us',
  'pass_us', 'kept_us', 'waiting_max', 'total_max', 'first_use_us', 'idle_us', 'active_max', 'each',
  'reserve', 'stale_us', 'doors', 'opens', 'closes', 'draw' }

local s, was, r = {}, {}, {}
local leased, forgets = ARGV[4] ~= '0', ARGV[4] == '1'

local function int(n) return string.format('%.0f', n) end
-- A set's member: padded, so that equal scores are ordered by number.
local function member(n) return string.format('%016.0f', n) end
local function div(a, b) return math.floor(a / b) end
local function minus(a, b) return math.max(a - b, 0) end

local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function read_rules()
  local i = 0
  for n in string.gmatch(s.rules, '%S+') do
    i = i + 1
    r[RULES[i]] = tonumber(n)
  end
end

-- Reads the state; false if there is no such room.
local function load()
  local values = redis.call('HMGET', S, unpack(FIELDS))
  if not values[1] then return false end
  for i, field in ipairs(FIELDS) do
    was[field] = values[i]
    -- A field that an older version did not write is as at the beginning.
    if i <= TEXTS then s[field] = values[i] or '' else s[field] = tonumber(values[i] or 0) end
  end
  read_rules()
  return true
end

-- Writes what changed.
local function save()
  local changed = {}
  for i, field in ipairs(FIELDS) do
    local value = s[field]
    if i > TEXTS then value = int(value) end
    if value ~= was[field] then
      changed[#changed + 1] = field
      changed[#changed + 1] = value
    end
  end
  if #changed > 0 then redis.call('HSET', S, unpack(changed)) end
end

-- Whether a caller has seen more of the room than this server holds: writes were lost. `s.lives` are the ended epochs
-- with their last versions, "epoch:version epoch:version", the oldest first.
local function is_behind(epoch, version)
  if epoch >= s.epoch then return epoch > s.epoch or version > s.version end
  local oldest
  for e, v in string.gmatch(s.lives, '(%d+):(%d+)') do
    e = tonumber(e)
    oldest = oldest or e
    if e == epoch then return version > tonumber(v) end
  end
  return oldest ~= nil and epoch > oldest
end

-- How things stand with this server and this caller: nil, or the answer that refuses.
local function refuse()
  if not load() then return { 'NOROOM' } end
  if is_behind(tonumber(ARGV[2]), tonumber(ARGV[3])) then return { 'ROLLBACK', s.owner } end
  if s.owner ~= run_id() then return { 'OWNER', s.owner } end
  return nil
end
