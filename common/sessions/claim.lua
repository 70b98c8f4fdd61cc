-- Gives one inference process the lease of a session, and says so in the results.
-- KEYS[1] slot   KEYS[2] lease   KEYS[3] audio   KEYS[4] results   KEYS[5] model call
-- ARGV[1] holder   ARGV[2] token of the claimant   ARGV[3] lease TTL in ms   ARGV[4] TTL of the results in ms
-- Returns 1 when the claimant has the lease. Returns 0 when the slot is no longer the session's, when another
-- process has the lease or is in a model call, or when the session is not open.
-- Guarantee: one process at a time, even if a Redis that stood still has let the lease of a running model call run out.
-- An ended session is never begun again. Safe to send twice.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local caller = redis.call('GET', KEYS[5])
if caller and caller ~= ARGV[2] then return 0 end
local owner = redis.call('GET', KEYS[2])
if owner == ARGV[2] then
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
  return 1
end
if owner or redis.call('EXISTS', KEYS[3]) == 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('XADD', KEYS[4], '*', 'kind', 'claimed', 'by', ARGV[2])
redis.call('PEXPIRE', KEYS[4], ARGV[4])
return 1
