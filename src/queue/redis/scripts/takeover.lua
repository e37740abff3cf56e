-- takeover: begins a new life of the room on this server, after a restart or a failover.
-- ARGV[5] the owner that the caller found: compared and set, so of many callers one does it
-- Answer: {'OK', snapshot}. Safe to repeat: the owner has changed by then, and the room is only read.
-- With every write synced nothing that was acknowledged is lost and the numbers stay as they are; with
-- ceilings the new life starts at the highest that may have been in force. Nobody is granted until those who
-- are called had a step to check in again.
local no = refuse(true)
if no then return no end
local me = run_id()
if s.owner == ARGV[5] and s.owner ~= me then
  local now = clock()
  s.owner, s.epoch = me, s.epoch + 1
  if leased then
    skip_to(s.last_pending)
    if r.total_max >= 0 then s.admitted = math.max(s.admitted, s.admitted_pending) end
    s.last_max, s.last_pending = s.last, s.last + CEILING_STEP
    s.admitted_max, s.admitted_pending = s.admitted, s.admitted + 6 * r.step_slots + r.burst
    s.pending_since, s.raised_from = now, s.last
    -- Admissions and renewals that were lost are inside all the same, until what their passes may print. Ends that
    -- were lost had sequences: the log goes on above them, and every instance reads it anew.
    s.ghosts = s.ghosts + div(CEILING_US * 1000, r.spacing_ns) + 1 + r.burst
    s.ghosts_until = now + r.step_us + math.min(math.max(r.first_use_us, r.idle_us), r.pass_us)
    s.log_first = s.log_first + LOG_MAX
  end
  forget_present()
  settle_from(now)
  s.touched = now
  touch()
  save()
end
return { 'OK', snapshot() }
