-- For how long the slot has been taken.
-- KEYS[1] slot   KEYS[2] fence counter
-- Returns ms; 0 while the slot is free.
-- Guarantee: the same whoever asks, because the fence is when the slot was taken, by the very clock that is
-- looked at now. Where that clock was set back, the fence may lie ahead of it: then 0.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local now = redis.call('TIME')
local now_us = now[1] * 1000000 + now[2]
local fence = tonumber(redis.call('GET', KEYS[2])) or now_us
return math.max(0, math.floor((now_us - fence) / 1000))
