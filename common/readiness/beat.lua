-- Writes one heartbeat of an inference process or of an API replica.
-- KEYS[1] the process's key   KEYS[2] index of all processes
-- ARGV[1] process id   ARGV[2] state as JSON   ARGV[3] TTL in ms; 0 ends the process's entry
-- Returns 1.
-- Guarantee: the index names every process whose key is alive, and forgets the dead ones; it has a TTL itself.
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
local ttl_ms = tonumber(ARGV[3])
if ttl_ms == 0 then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  return 1
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ttl_ms)
redis.call('ZADD', KEYS[2], now_ms + ttl_ms, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now_ms)
redis.call('PEXPIRE', KEYS[2], ttl_ms)
return 1
