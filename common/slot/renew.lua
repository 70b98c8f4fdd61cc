-- Gives a key its whole time again: the slot, or a session's lease.
-- KEYS[1] slot or lease
-- ARGV[1] holder (whole value)   ARGV[2] TTL in ms
-- Returns 1 while ARGV[1] holds it, 0 when it does not (any more).
-- Guarantee: what another one holds is never touched. If the clock of Redis's machine is set back, every TTL
-- becomes longer by as much. Even then the key does not outlive its holder for longer than ARGV[2].
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
