-- Publishes progress or a partial of a session.
-- KEYS[1] slot   KEYS[2] lease   KEYS[3] results
-- ARGV[1] holder   ARGV[2] token   ARGV[3] TTL of the results in ms   ARGV[4..] field, value, ...
-- Returns 1 when published, 0 when the lease is another process's, -1 when the slot is no longer the session's.
-- Guarantee: a process that was paused and has lost its session publishes nothing. Safe to send twice: an
-- entry equal to the last one, as a retry after a lost reply sends it, is not added again.
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
local repeated = last ~= nil and #last[2] == #ARGV - 3
for index, value in ipairs(last and last[2] or {}) do
  if ARGV[index + 3] ~= value then repeated = false end
end
if repeated then return 1 end
redis.call('XADD', KEYS[3], '*', unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[3], ARGV[3])
return 1
