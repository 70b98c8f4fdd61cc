-- What a model call holds while it runs: the one model of the service, and the slot.
-- KEYS[1] slot   KEYS[2] model call   KEYS[3] audio of the work
-- ARGV[1] holder   ARGV[2] TTL of the slot in ms   ARGV[3] the longest TTL that anybody gives it, in ms   ARGV[4] process   ARGV[5] TTL of the call in ms
-- ARGV[6] 1 when the call has been running, 0 when it begins
-- Returns 1, or 0 when another process is in a model call: then this process stood still and has lost its work.
-- Guarantee: another holder's slot is never touched, nor another process's call. The slot's TTL is never
-- shortened, unless it is longer than anybody gives it. That happens if a clock was set back. When call and
-- slot have both run out, as in a Redis that stood still, the slot is taken again. Mostly nobody else can
-- have it before: they have to hear of work first. Two things forbid taking it again:
--   a call that has not run out: then the slot was taken away on purpose;
--   work whose audio is gone: another process ended it, or it was lost with Redis's memory. Nobody would free the slot.
local caller = redis.call('GET', KEYS[2])
if caller and caller ~= ARGV[4] then return 0 end
redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[5])
local holder = redis.call('GET', KEYS[1])
if not holder and not caller and ARGV[6] == '1' and redis.call('EXISTS', KEYS[3]) == 1 then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
elseif holder == ARGV[1] then
  local left = redis.call('PTTL', KEYS[1])
  if left < tonumber(ARGV[2]) or left > tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
end
return 1
