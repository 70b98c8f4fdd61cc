-- Takes the slot, or keeps it for the one who already holds it.
-- KEYS[1] slot   KEYS[2] fence counter
-- ARGV[1] holder (whole value)   ARGV[2] TTL in ms
-- Returns the fence (a string of digits), or 0 when another holder has the slot.
-- Guarantee: safe to send twice: a retry after a lost reply gives the same fence. The fence only grows, even
-- if Redis was emptied or a replica became the master without the last writes: it is the clock's
-- microseconds, or one more than the last fence when these are behind.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
local last = tonumber(redis.call('GET', KEYS[2])) or 0
if holder and last > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return string.format('%.0f', last)
end
local now = redis.call('TIME')
local fence = string.format('%.0f', math.max(last + 1, now[1] * 1000000 + now[2]))
redis.call('SET', KEYS[2], fence)
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return fence
