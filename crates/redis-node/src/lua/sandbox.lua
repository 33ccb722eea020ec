-- What scripts see of Lua and of Redis. Runs once per state, with the raw functions of the host.
--
-- One state serves many nodes, so nothing that a script does may be seen by another: libraries are shown
-- through empty tables that refuse assignment, and every function that would write past that is replaced.
-- Nothing may depend on an address either: that is why `tostring`, `pairs` and `next` are not the library's.

local raw = ...

local error, type, select, tostring, tonumber = error, type, select, tostring, tonumber
local pcall, xpcall, next, unpack = pcall, xpcall, next, unpack
local rawget, rawset, rawequal = rawget, rawset, rawequal
local setmetatable, getmetatable = setmetatable, getmetatable
local string, table, math, coroutine = string, table, math, coroutine
local find, gsub, match, gmatch = string.find, string.gsub, string.match, string.gmatch
local floor = math.floor

local READONLY = "Attempt to modify a readonly table"

-- Protected table -> what it shows.
local shown = {}

local function protect(contents, missing)
  if missing then
    setmetatable(contents, { __index = missing })
  end
  local face = setmetatable({}, {
    __index = contents,
    __newindex = function() error(READONLY, 2) end,
    __metatable = false,
  })
  shown[face] = contents
  return face
end

local function spend(work)
  if not raw.charge(work) then
    error("script took too long", 0)
  end
end

-- Basic functions.

local function safe_tostring(...)
  if select("#", ...) == 0 then
    error("bad argument #1 to 'tostring' (value expected)", 2)
  end
  local text = tostring((...))
  local kind = type((...))
  if kind == "table" or kind == "function" or kind == "thread" or kind == "userdata" then
    if type(text) == "string" and find(text, "^%a+: 0x%x+$") then
      return kind .. ": 0x000000000000"
    end
  end
  return text
end

local function has_order(key)
  local kind = type(key)
  return kind == "string" or kind == "number" or kind == "boolean" or kind == "nil"
end

local NO_ORDER = "keys that are tables or functions have no order that could be repeated"

local function safe_next(t, key)
  local following, value = next(shown[t] or t, key)
  if not has_order(following) then
    error(NO_ORDER, 2)
  end
  return following, value
end

local function safe_pairs(t)
  if type(t) ~= "table" then
    error("bad argument #1 to 'pairs' (table expected, got " .. (t == nil and "nil" or type(t)) .. ")", 2)
  end
  local contents = shown[t] or t
  local function step(_, key)
    local following, value = next(contents, key)
    if not has_order(following) then
      error(NO_ORDER, 2)
    end
    return following, value
  end
  return step, t, nil
end

-- The host cannot raise a table, so its errors are wrapped until somebody catches them.
local function unwrapped(err)
  if type(err) == "userdata" then
    return { err = raw.explain(err) }
  end
  return err
end

-- How much memory there is left depends on what other scripts left behind: so running out of it ends the
-- script, and cannot be caught.
local function stop_if_out_of_memory(err)
  if err == "not enough memory" then
    raw.exhaust()
    error(err, 0)
  end
end

-- Redis 7 hands the text of a table error to whoever catches it with `pcall`.
local function caught(ok, err, ...)
  if ok then
    return ok, err, ...
  end
  stop_if_out_of_memory(err)
  err = unwrapped(err)
  if type(err) == "table" and type(err.err) == "string" then
    return false, err.err
  end
  return false, err
end

local function resumed(ok, err, ...)
  if ok then
    return ok, err, ...
  end
  stop_if_out_of_memory(err)
  return false, unwrapped(err)
end

-- The library's own would call the handler inside of the hook that counts instructions, uncounted.
local function handled(handle, ok, err, ...)
  if ok then
    return ok, err, ...
  end
  stop_if_out_of_memory(err)
  local _, result = pcall(handle, unwrapped(err))
  return false, result
end

local globals = {
  _VERSION = _VERSION,
  assert = assert,
  error = error,
  getmetatable = getmetatable,
  ipairs = ipairs,
  next = safe_next,
  pairs = safe_pairs,
  pcall = function(...) return caught(pcall(...)) end,
  rawequal = rawequal,
  rawget = function(t, key) return rawget(shown[t] or t, key) end,
  rawset = function(t, key, value)
    if shown[t] then error({ err = "ERR " .. READONLY }) end
    return rawset(t, key, value)
  end,
  select = select,
  setmetatable = function(t, meta)
    if shown[t] then error({ err = "ERR " .. READONLY }) end
    return setmetatable(t, meta)
  end,
  tonumber = tonumber,
  tostring = safe_tostring,
  type = type,
  unpack = unpack,
  xpcall = function(f, handle) return handled(handle, pcall(f)) end,
}

-- Strings. A pattern can take time exponential in its length inside one instruction, so its worst case is
-- bounded beforehand.

local function bound_pattern(text, pattern)
  if type(text) == "number" then text = tostring(text) end
  if type(pattern) == "number" then pattern = tostring(pattern) end
  if type(text) ~= "string" or type(pattern) ~= "string" then
    return
  end
  local _, repeats = gsub(pattern, "[%*%+%-%?]", "")
  local anchored = find(pattern, "^", 1, true) == 1
  local cost = #pattern + (#text + 1) ^ (anchored and repeats or repeats + 1)
  if #pattern > 1024 or cost > 1e9 then
    error("pattern too complex", 3)
  end
  if cost > 1000 then
    spend(cost / 100)
  end
end

local strings = {}
for name, value in next, string do
  strings[name] = value
end
strings.dump = nil

local rep = string.rep
function strings.rep(text, count)
  if type(text) == "string" and type(count) == "number" and #text * count > 1000 then
    spend(#text * count / 100)
  end
  return rep(text, count)
end

for _, name in next, { "lower", "upper", "reverse" } do
  local original = string[name]
  strings[name] = function(text)
    if type(text) == "string" and #text > 1000 then spend(#text / 100) end
    return original(text)
  end
end

function strings.find(text, pattern, init, plain)
  if not plain then
    bound_pattern(text, pattern)
  elseif type(text) == "string" and type(pattern) == "string" then
    local cost = #text * #pattern
    if cost > 1000 then spend(cost / 100) end
  end
  return find(text, pattern, init, plain)
end

function strings.match(text, pattern, init)
  bound_pattern(text, pattern)
  return match(text, pattern, init)
end

function strings.gmatch(text, pattern)
  bound_pattern(text, pattern)
  return gmatch(text, pattern)
end
strings.gfind = strings.gmatch

function strings.gsub(text, pattern, ...)
  bound_pattern(text, pattern)
  return gsub(text, pattern, ...)
end

local meta = getmetatable("")
meta.__index = strings
meta.__metatable = false
globals.string = protect(strings)

-- Tables. What works on every element counts by elements.

local tables = {}
for name, value in next, table do
  tables[name] = value
end

local function by_length(name)
  local original = table[name]
  tables[name] = function(t, ...)
    if shown[t] then error({ err = "ERR " .. READONLY }) end
    if type(t) == "table" and #t > 1000 then spend(#t / 10) end
    return original(t, ...)
  end
end
for _, name in next, { "insert", "remove", "concat", "sort" } do
  by_length(name)
end
-- Appending is the common case and costs the same whatever the length.
local insert_anywhere, insert = tables.insert, table.insert
function tables.insert(t, ...)
  if select("#", ...) == 1 and not shown[t] then return insert(t, ...) end
  return insert_anywhere(t, ...)
end
for _, name in next, { "foreach", "foreachi", "setn", "getn", "maxn" } do
  tables[name] = nil
end
globals.table = protect(tables)

-- Numbers. The library's random numbers belong to the process.

local numbers = {}
for name, value in next, math do
  numbers[name] = value
end

function numbers.random(...)
  local count = select("#", ...)
  local random = raw.random()
  if count == 0 then
    return random
  end
  local low, high = 1, ...
  if count == 2 then
    low, high = ...
  elseif count > 2 then
    error("wrong number of arguments", 2)
  end
  low, high = floor(tonumber(low)), floor(tonumber(high))
  if low > high then
    error("bad argument #" .. count .. " to 'random' (interval is empty)", 2)
  end
  return floor(random * (high - low + 1)) + low
end

function numbers.randomseed(seed)
  raw.reseed(tonumber(seed) or error("bad argument #1 to 'randomseed' (number expected)", 2))
end
globals.math = protect(numbers)

-- Coroutines have a count of instructions of their own, so making and resuming them is counted here.

local coroutines = {}
for name, value in next, coroutine do
  coroutines[name] = value
end
local create, resume, wrap = coroutine.create, coroutine.resume, coroutine.wrap

function coroutines.create(f)
  spend(100)
  return create(f)
end

function coroutines.resume(thread, ...)
  spend(10)
  return resumed(resume(thread, ...))
end

function coroutines.wrap(f)
  spend(100)
  local resume_it = wrap(f)
  return function(...)
    spend(10)
    return resume_it(...)
  end
end
globals.coroutine = protect(coroutines)

-- Redis.

local function fail(text)
  error({ err = "ERR " .. text })
end

local redis = {
  LOG_DEBUG = 0,
  LOG_VERBOSE = 1,
  LOG_NOTICE = 2,
  LOG_WARNING = 3,
  REPL_NONE = 0,
  REPL_AOF = 1,
  REPL_SLAVE = 2,
  REPL_REPLICA = 2,
  REPL_ALL = 3,
  REDIS_VERSION = "7.0.15",
  REDIS_VERSION_NUM = 0x0007000F,
  call = raw.call,
  pcall = raw.pcall,
}

function redis.error_reply(...)
  local text = ...
  if select("#", ...) ~= 1 or type(text) ~= "string" then
    return { err = "ERR wrong number or type of arguments" }
  end
  text = gsub(gsub(text, "^%-", ""), "[\r\n]+$", "")
  if not find(text, " ", 1, true) then
    text = "ERR " .. text
  end
  return { err = text }
end

function redis.status_reply(...)
  local text = ...
  if select("#", ...) ~= 1 or type(text) ~= "string" then
    return { err = "ERR wrong number or type of arguments" }
  end
  return { ok = text }
end

function redis.sha1hex(...)
  if select("#", ...) ~= 1 then
    fail("wrong number of arguments")
  end
  local text = ...
  if type(text) ~= "string" and type(text) ~= "number" then
    text = ""
  end
  text = tostring(text)
  if #text > 1000 then spend(#text / 10) end
  return raw.sha1hex(text)
end

function redis.log(...)
  if select("#", ...) < 2 then
    fail("redis.log() requires two arguments or more.")
  end
  local level = ...
  if type(level) ~= "number" then
    fail("First argument must be a number (log level).")
  end
  if level < 0 or level > 3 then
    fail("Invalid debug level.")
  end
end

function redis.setresp(...)
  local version = tonumber((...))
  if select("#", ...) ~= 1 then
    fail("redis.setresp() requires one argument.")
  end
  if version ~= 2 and version ~= 3 then
    fail("RESP version must be 2 or 3.")
  end
  raw.setresp(version == 3)
end

function redis.replicate_commands()
  return true
end

function redis.set_repl(...)
  if select("#", ...) ~= 1 then
    fail("redis.set_repl() requires two arguments.")
  end
  local flags = tonumber((...)) or 0
  if flags ~= 0 and flags ~= 1 and flags ~= 2 and flags ~= 3 then
    fail("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
  end
end

function redis.acl_check_cmd(...)
  local name = ...
  if select("#", ...) == 0 then
    fail("Please specify at least one argument for this redis.acl_check_cmd() call")
  end
  if (type(name) ~= "string" and type(name) ~= "number") or not raw.knows(tostring(name)) then
    fail("Invalid command passed to redis.acl_check_cmd()")
  end
  return true
end

function redis.breakpoint() return false end
function redis.debug() end

globals.redis = protect(redis)

-- A name that does not exist is an error, but not while the host itself looks for one.
local environment = protect(globals, function(_, name)
  error("Script attempted to access nonexistent global variable '" .. safe_tostring(name) .. "'", 2)
end)
globals._G = environment

local function handler(err)
  err = unwrapped(err)
  if type(err) ~= "table" then
    err = { err = "ERR " .. safe_tostring(err) }
  end
  rawset(err, "line", raw.line())
  return err
end

local function run(script)
  return xpcall(script, handler)
end

return run, globals, environment
