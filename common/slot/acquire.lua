-- Takes the slot, or keeps it for the one who already holds it.
-- KEYS[1] slot   KEYS[2] fence counter
-- ARGV[1] holder (whole value)   ARGV[2] TTL in ms
-- Returns the fence (a string of digits), or 0 when another holder has the slot.
-- Guarantee: safe to send twice (a lost reply and a retry give the same fence); the fence only grows, also over an emptied Redis,
-- because a new counter starts at the clock's microseconds and there is less than one acquisition a microsecond.
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return redis.call('GET', KEYS[2])
end
if holder then return 0 end
if redis.call('EXISTS', KEYS[2]) == 0 then
  local now = redis.call('TIME')
  redis.call('SET', KEYS[2], string.format('%.0f', now[1] * 1000000 + now[2]))
end
redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('GET', KEYS[2])
