-- How much audio of a session waits for the model.
-- KEYS[1] audio   KEYS[2] results
-- Returns bytes: those that have come in, less those that were taken into a model call; 0 when there is no such session.
-- Guarantee: nothing is changed, and no audio leaves Redis.
local received = 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do
  if entry[2][1] == 'pcm' then received = received + #entry[2][2] end
end
local taken = 0
for _, entry in ipairs(redis.call('XREVRANGE', KEYS[2], '+', '-')) do
  local fields = entry[2]
  for index = 1, #fields, 2 do
    if fields[index] == 'takenBytes' then taken = math.max(taken, tonumber(fields[index + 1])) end
  end
end
return math.max(0, received - taken)
