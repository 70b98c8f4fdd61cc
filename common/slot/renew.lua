-- Gives the slot at least ARGV[2] ms more; never shortens it.
-- KEYS[1] slot
-- ARGV[1] holder (whole value)   ARGV[2] TTL in ms
-- Returns 1 while ARGV[1] holds the slot, 0 when it does not (any more).
-- Guarantee: another holder's slot is never touched.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
