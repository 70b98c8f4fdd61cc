-- Makes every fence from now on larger than one that was seen.
-- KEYS[1] fence counter
-- ARGV[1] the largest fence seen
-- Returns 1.
-- Guarantee: the fence only grows.
local last = tonumber(redis.call('GET', KEYS[1])) or 0
if last < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end
return 1
