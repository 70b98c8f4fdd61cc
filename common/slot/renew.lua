-- Gives the slot at least ARGV[2] ms more; never shortens what another has given it.
-- KEYS[1] slot
-- ARGV[1] holder (whole value)   ARGV[2] TTL in ms   ARGV[3] the longest TTL that anybody gives, in ms
-- Returns 1 while ARGV[1] holds the slot, 0 when it does not (any more).
-- Guarantee: another holder's slot is never touched; with the clock of Redis's machine set back, which makes every TTL longer by as much,
-- the slot still does not outlive its holder for longer than ARGV[3].
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[2]) or left > tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
