-- Ends an upload: its result, the end of its samples and the free slot, in one step, right before the job returns.
-- KEYS[1] slot   KEYS[2] samples   KEYS[3] result
-- ARGV[1] holder   ARGV[2] result as JSON   ARGV[3] TTL of the result in ms
-- Returns 1, or 0 when the slot was no longer the upload's: then nobody waits, and there is no result.
-- Guarantee: whoever sees the result finds the slot free; another holder's slot is never freed; safe to send twice
-- (the second time it returns 0 and leaves the result).
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[1])
return 1
