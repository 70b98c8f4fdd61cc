-- Ends a session in one step: publishes the last result, deletes its audio and lease, and frees the slot.
-- KEYS[1] slot   KEYS[2] lease   KEYS[3] audio   KEYS[4] results
-- ARGV[1] holder   ARGV[2] token   ARGV[3] TTL of the results in ms   ARGV[4..] field, value, ... of the last result; none: nobody waits for one
-- Returns 1, or 0 when the lease is another process's (also when this was sent before).
-- Guarantee: whoever sees the last result finds the slot free; another holder's slot is never freed; a session that was aborted
-- meanwhile leaves no result, since nobody reads it.
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
local aborted = last and last[2][1] == 'kind' and last[2][2] == 'abort'
if #ARGV > 3 and not aborted then
  redis.call('XADD', KEYS[4], '*', unpack(ARGV, 4))
  redis.call('PEXPIRE', KEYS[4], ARGV[3])
else
  redis.call('DEL', KEYS[4])
end
redis.call('DEL', KEYS[3], KEYS[2])
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
