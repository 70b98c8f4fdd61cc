-- Ends a session whose client is gone or was refused.
-- KEYS[1] slot   KEYS[2] lease   KEYS[3] audio   KEYS[4] results
-- ARGV[1] holder   ARGV[2] TTL of the audio in ms
-- Returns 1 when an inference process works on it and will free the slot when its running model call has returned; 0 when nobody does
-- and everything was freed here. The process hears of it also where the audio itself is lost: it would wait until the slot has run out.
-- A session that was begun may have a model call without a lease: that runs out in a Redis that stands still. It is put away by whoever claims
-- it next, which nobody does before the call has returned; if that process is dead, and there is no other, the slot runs out.
-- Guarantee: another holder's slot is never freed; safe to send twice.
local begun = redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('EXISTS', KEYS[4]) == 1
if begun or redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('XADD', KEYS[3], '*', 'kind', 'abort')
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
  return 1
end
redis.call('DEL', KEYS[3], KEYS[4])
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0
