-- create: makes the room if there is none.
-- ARGV[5] lineage  [6] rules of the file, JSON  [7] no overrides, JSON  [8] rules in force, numbers
-- Answer: {'OK', snapshot}. Safe to repeat: a room that exists is only read, whatever is asked for. Nothing
-- else ever makes a room, so a line that vanished cannot begin again at 1 unnoticed.
if not load() then
  local now = clock()
  s = { lineage = ARGV[5], owner = run_id(), file = ARGV[6], overrides = ARGV[7], rules = ARGV[8],
    phase = 'open', reason = '', lapses = '', forced = '', seed = '', draw_value = '', voids = '', lost = '', lives = '', keys = '' }
  for i = TEXTS + 1, #FIELDS do s[FIELDS[i]] = 0 end
  read_rules()
  -- The first epoch is the time, so that a room made anew is newer than all that was seen of a lost one.
  s.epoch = math.max(div(now, 1000000), 1)
  s.log_first = 1
  s.version, s.settings, s.stepped, s.touched, s.show = 1, 1, now, now, 500
  s.last_max, s.last_pending, s.pending_since = CEILING_STEP, CEILING_STEP, now
  s.admitted_max = 6 * r.step_slots + r.burst
  s.admitted_pending = s.admitted_max
  save()
end
return { 'OK', snapshot() }
