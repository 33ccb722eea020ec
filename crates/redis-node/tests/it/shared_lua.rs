//! One Lua state for many nodes: what a script left behind is never seen by the next one.

use proptest::prelude::*;
use redis_node::{Config, Disk, Lua};

use crate::support::{Bench, text};

const SCRIPTS: &[&str] = &[
    "return {tostring(math.random()), tostring(math.random(10)), tostring(math.random(5, 7))}",
    "math.randomseed(7) return tostring(math.random())",
    "return {tostring({}), tostring(print), tostring(redis.call), tostring(coroutine.create(tostring))}",
    "redis.call('incr', 'n') return redis.call('get', 'n')",
    "local t = {} for i = 1, 100 do t['k' .. i] = i end local s = '' for k in pairs(t) do s = s .. k end return s",
    "local n = 0 while true do n = redis.call('incr', 'loop') end",
    "redis.call('del', 'loop') local t = {} while true do pcall(function() redis.call('incr', 'loop') end) end",
    "local s = string.rep('x', 1000000) local n = 0 local t = {} \
     while pcall(function() t[n + 1] = s .. n end) do n = n + 1 end return n",
    "return redis.call('get', 'loop')",
    "local t = setmetatable({}, {__mode = 'k'}) t[{}] = 1 for i = 1, 1000 do local x = {} end \
     local n = 0 for i = 1, 10 do n = n + 1 end return n",
    // On both sides of what a script may use up on the shared state, and of what stops it for good.
    "for i = 1, 200 do redis.call('incr', 'loop') end return string.rep('x', 200000) == nil",
    "redis.call('incr', 'loop') local s = string.rep('x', 262000) return #s",
    "redis.call('incr', 'loop') local s = string.rep('x', 300000) return #s",
    "for i = 1, 300 do redis.call('incr', 'loop') end return redis.call('get', 'loop')",
    "local t = {} for i = 1, 5000 do t[i] = 'k' .. i end return redis.call('incrby', 'loop', #t)",
    "local t = {} for i = 1, 200000 do t[i] = 'k' .. i redis.call('incr', 'loop') end return #t",
    "redis.call('incr', 'loop') local s = 'x' for i = 1, 22 do s = s .. s end return #s",
    "redis.call('incr', 'loop') local s = 'x' for i = 1, 24 do s = s .. s end return #s",
    "redis.setresp(3) return redis.call('get', 'none')",
    "return redis.call('get', 'none') == false",
    "return nope",
    "return {pcall(function() return {} .. 'x' end)}",
    "local t = {} t[{}] = 1 t[{}] = 2 return {pcall(function() for k, v in pairs(t) do return v end end)}",
];

/// Attempts to leave something behind; whether they fail or not, nobody may see it.
const LEAKS: &[&str] = &[
    "x = 1",
    "rawset(_G, 'x', 1)",
    "rawset(string, 'x', 1)",
    "string.len = nil",
    "redis.call = redis.pcall",
    "getmetatable('').__index = nil",
    "getmetatable('').x = 1",
    "getmetatable(_G).__index = nil",
    "setmetatable(_G, nil)",
    "setmetatable(string, {__index = {x = 1}})",
    "table.insert(_G, 1)",
    "table.insert(string, 1)",
    "local _, t = pairs(string) t.x = 1 rawset(t, 'y', 1)",
    "for k, v in pairs(_G) do if type(v) == 'table' then v.x = 1 end end",
    "local f, s = pairs(_G) rawset(s, 'x', 1)",
    "KEYS = {'x'}",
    "KEYS[1] = 'x' ARGV[1] = 'y'",
    "math.randomseed(99)",
    "redis.setresp(3)",
    "coroutine.wrap(function() x = 1 end)()",
    "xpcall(function() error('a') end, function(e) x = 1 end)",
    "next(_G) rawset(next, 'x', 1)",
    "local env = _G while true do env = rawget(env, '_G') or error('end') rawset(env, 'x', 1) end",
    "table.sort(_G) table.remove(_G) table.concat(_G) unpack(_G)",
    "return string.gsub('x', 'x', function() x = 1 end)",
    "local t = {} for i = 1, 100000 do t[i] = {i} end",
    "while true do end",
];

fn results(lua: &Lua, script: &str) -> (String, String) {
    let mut bench = Bench::with(Config::default(), Disk::default(), lua);
    let first = text(&bench.ask(&["EVAL", script, "0"]));
    (first, text(&bench.ask(&["GET", "loop"])))
}

#[test]
fn seeds_in_reverse_order_give_the_same_results() {
    let fresh: Vec<_> = SCRIPTS
        .iter()
        .map(|script| results(&Lua::new(), script))
        .collect();
    let shared = Lua::new();
    let forwards: Vec<_> = SCRIPTS
        .iter()
        .map(|script| results(&shared, script))
        .collect();
    let mut backwards: Vec<_> = SCRIPTS
        .iter()
        .rev()
        .map(|script| results(&shared, script))
        .collect();
    backwards.reverse();
    assert_eq!(forwards, fresh);
    assert_eq!(backwards, fresh);
}

/// Everything that a script can see of its globals, by name and type.
const SURVEY: &str = "local seen = {} local function look(name, value, depth) \
    seen[#seen + 1] = name .. ':' .. type(value) \
    if type(value) == 'table' and depth < 3 and name ~= '_G' then \
      for k, v in pairs(value) do look(name .. '.' .. tostring(k), v, depth + 1) end end end \
    for k, v in pairs(_G) do look(k, v, 0) end table.sort(seen) \
    return {table.concat(seen, ' '), tostring(math.random()), ('x'):len(), tostring(('x').x), #KEYS, #ARGV, \
      tostring(pcall(function() return x end)), tostring(redis.call('get', 'none'))}";

#[test]
fn no_leak_reaches_the_next_script() {
    let (clean, _) = results(&Lua::new(), SURVEY);
    assert!(clean.contains("redis.call:function"), "{clean}");
    let shared = Lua::new();
    for leak in LEAKS {
        results(&shared, leak);
        assert_eq!(results(&shared, SURVEY).0, clean, "{leak}");
    }
}

#[test]
fn a_script_of_one_node_is_unknown_to_the_others() {
    let lua = Lua::new();
    let mut first = Bench::with(Config::default(), Disk::default(), &lua);
    let mut second = Bench::with(Config::default(), Disk::default(), &lua);
    let sha = text(&first.ask(&["SCRIPT", "LOAD", "return 1"]));
    let sha = sha.trim_matches('"');
    assert_eq!(text(&first.ask(&["EVALSHA", sha, "0"])), ":1");
    assert_eq!(
        text(&first.ask(&["EVALSHA", &sha.to_uppercase(), "0"])),
        ":1"
    );
    assert_eq!(
        text(&second.ask(&["EVALSHA", sha, "0"])),
        "-NOSCRIPT No matching script. Please use EVAL."
    );
    assert_eq!(text(&second.ask(&["SCRIPT", "EXISTS", sha])), "[:0]");
    first.ask(&["SCRIPT", "FLUSH"]);
    assert_eq!(text(&first.ask(&["SCRIPT", "EXISTS", sha])), "[:0]");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    /// Whatever ran before, and in whatever order, a script answers as on a state of its own.
    #[test]
    fn history_does_not_matter(order in prop::collection::vec(0..SCRIPTS.len(), 1..6)) {
        let shared = Lua::new();
        for index in order {
            prop_assert_eq!(results(&shared, SCRIPTS[index]), results(&Lua::new(), SCRIPTS[index]));
        }
    }
}
