-- Frees the slot.
-- KEYS[1] slot
-- ARGV[1] holder (whole value)
-- Returns 1 when ARGV[1] held it, 0 when it did not (any more).
-- Guarantee: another holder's slot is never freed; safe to send twice.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
