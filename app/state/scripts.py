"""The scripts that run inside the server, each in the slot of one session."""

from __future__ import annotations

# All that belongs to a session, in its own slot: the hash knows which turns have a record. Counts what was there.
FORGET = """for _, each in ipairs(redis.call('ZRANGE', ARGV[1] .. 'a', 0, -1)) do
  redis.call('DEL', ARGV[1] .. 'a:' .. string.match(each, ':(.*)$'))
end
redis.call('DEL', ARGV[1] .. 'a')
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return redis.call('DEL', KEYS[1]) end
local gone = 0
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if #field == 16 then gone = gone + 1
  elseif string.sub(field, 1, 2) == 't:' then gone = gone + redis.call('DEL', ARGV[1] .. field) end
end
return gone + redis.call('DEL', KEYS[1])"""

# The whole hash as one flat list: clients read the bare command's reply in different shapes.
EVERYTHING = """if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return {} end
return redis.call('HGETALL', KEYS[1])"""
