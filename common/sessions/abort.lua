-- Ends a session whose client is gone or was refused.
-- KEYS[1] slot   KEYS[2] lease   KEYS[3] audio   KEYS[4] results
-- ARGV[1] holder   ARGV[2] TTL of the audio in ms   ARGV[3] TTL of a slot that nobody may free, in ms   ARGV[4] 1 when no inference process is left
-- Returns 1 when an inference process works on it: that process frees the slot once its running model call
-- has returned. Returns 0 when nobody does: then everything was freed here. The abort is written even if the
-- audio is lost: otherwise that process would wait until the slot has run out. A session without a lease may
-- still be in a model call, because a lease runs out while Redis stands still. So a session that was ever
-- claimed (it has results) is left to whoever claims it next. Nobody can claim it before that call has
-- returned. The call renews the slot. If its process is dead and there is no other, the slot runs out after
-- ARGV[3]. With ARGV[4] there is no such call: a process that is stopped says so by its missing heartbeat.
-- Guarantee: another holder's slot is never freed. Safe to send twice.
local leased = redis.call('EXISTS', KEYS[2]) == 1
local begun = redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('EXISTS', KEYS[4]) == 1
if leased or (begun and ARGV[4] ~= '1') then
  if begun and not leased then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  redis.call('XADD', KEYS[3], '*', 'kind', 'abort')
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
  return 1
end
redis.call('DEL', KEYS[3], KEYS[4])
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0
