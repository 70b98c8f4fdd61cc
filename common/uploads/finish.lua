-- Ends an upload in one step: says how it ended, deletes its samples and frees the slot.
-- KEYS[1] slot   KEYS[2] samples   KEYS[3] end
-- ARGV[1] holder   ARGV[2] TTL of the end in ms   ARGV[3..] field, value, ... of the end
-- Returns 1, also when this was sent before and that end has not been read and deleted yet. Returns 0 when
-- the slot was no longer the upload's: then nobody waits, and nothing is said.
-- Guarantee: whoever sees the end finds the slot free. While the slot is the upload's, there is no end; once
-- it is not, none comes any more. Another holder's slot is never freed. Safe to send twice. A full Redis
-- takes it too: it lets a script go on that began with a DEL.
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.call('EXISTS', KEYS[3]) end
redis.call('XADD', KEYS[3], '*', unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[3], ARGV[2])
redis.call('DEL', KEYS[1])
return 1
