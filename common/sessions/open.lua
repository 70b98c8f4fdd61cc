-- Opens a stream session: its audio stream with the opening entry, and the announcement that every inference process reads.
-- KEYS[1] slot   KEYS[2] audio   KEYS[3] sessions
-- ARGV[1] holder   ARGV[2] fence   ARGV[3] session id   ARGV[4] TTL of the audio and the announcements in ms
-- Returns 1, or 0 when the holder has lost the slot.
-- Guarantee: no session without the slot; the audio key has its TTL from its first write; safe to send twice.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
redis.call('XADD', KEYS[2], '0-1', 'kind', 'open', 'fence', ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 64, '*', 'id', ARGV[3], 'holder', ARGV[1])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return 1
