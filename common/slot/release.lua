-- Gives up a key before its TTL does: the slot, or the model call.
-- KEYS[1] slot or model call
-- ARGV[1] holder (whole value), or process
-- Returns 1 when ARGV[1] held it, 0 when it did not (any more).
-- Guarantee: what another one holds is never freed; safe to send twice.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
