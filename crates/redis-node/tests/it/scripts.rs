//! Lua: conversions, errors by Redis's words, and nothing that escapes the sandbox.

use crate::support::{Bench, text};

fn eval(script: &str) -> String {
    text(&Bench::new().ask(&["EVAL", script, "0"]))
}

/// Replies of redis-server 7.0.15 to the same scripts.
#[test]
fn errors_have_the_texts_of_redis() {
    let position = |script: &str| {
        let sha = text(&Bench::new().ask(&["SCRIPT", "LOAD", script]));
        format!(" script: {}, on @user_script:1.", sha.trim_matches('"'))
    };
    let cases = [
        (
            "return redis.call('incr')",
            "ERR Wrong number of args calling Redis command from script",
        ),
        (
            "return redis.call('nope')",
            "ERR Unknown Redis command called from script",
        ),
        (
            "return redis.call()",
            "ERR Please specify at least one argument for this redis lib call",
        ),
        (
            "return redis.call({})",
            "ERR Lua redis lib command arguments must be strings or integers",
        ),
        (
            "return redis.call('multi')",
            "ERR This Redis command is not allowed from script",
        ),
        ("error('boom')", "ERR user_script:1: boom"),
        ("error({err='MY thing'})", "MY thing"),
        (
            "return foo",
            "ERR user_script:1: Script attempted to access nonexistent global variable 'foo'",
        ),
        (
            "foo=1",
            "ERR user_script:1: Attempt to modify a readonly table",
        ),
        (
            "redis.call=1",
            "ERR user_script:1: Attempt to modify a readonly table",
        ),
        ("rawset(_G,'x',1)", "ERR Attempt to modify a readonly table"),
        (
            "table.insert(redis,1)",
            "ERR Attempt to modify a readonly table",
        ),
        (
            "setmetatable(_G,{})",
            "ERR Attempt to modify a readonly table",
        ),
        ("return redis.sha1hex()", "ERR wrong number of arguments"),
        (
            "local function f() return f() + 1 end return f()",
            "ERR user_script:1: stack overflow",
        ),
        (
            "return redis.log(redis.LOG_NOTICE)",
            "ERR redis.log() requires two arguments or more.",
        ),
        (
            "return redis.log('x','y')",
            "ERR First argument must be a number (log level).",
        ),
        (
            "return redis.setresp(4)",
            "ERR RESP version must be 2 or 3.",
        ),
        ("return redis.log(4, 'x')", "ERR Invalid debug level."),
        (
            "return redis.set_repl(9)",
            "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        ),
        (
            "return redis.set_repl()",
            "ERR redis.set_repl() requires two arguments.",
        ),
        (
            "return redis.acl_check_cmd('nope')",
            "ERR Invalid command passed to redis.acl_check_cmd()",
        ),
        (
            "return redis.call('subscribe', 'x')",
            "ERR This Redis command is not allowed from script",
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(
            eval(script),
            format!("-{expected}{}", position(script)),
            "{script}"
        );
    }
}

#[test]
fn values_are_converted_as_redis_does() {
    let cases = [
        ("return redis.error_reply('x')", "-ERR x"),
        ("return redis.error_reply('MY x')", "-MY x"),
        ("return redis.error_reply('-MY x')", "-MY x"),
        (
            "return redis.error_reply()",
            "-ERR wrong number or type of arguments",
        ),
        ("return {err='hello'}", "-hello"),
        (
            "return redis.pcall('incr').err",
            "\"ERR Wrong number of args calling Redis command from script\"",
        ),
        (
            "return redis.pcall('nope')",
            "-ERR Unknown Redis command called from script",
        ),
        ("return {1,2,nil,3}", "[:1 :2]"),
        ("return 3.99", ":3"),
        ("return {ok='fine'}", "+fine"),
        ("return true", ":1"),
        ("return false", "nil"),
        ("return nil", "nil"),
        ("return", "nil"),
        ("return redis.status_reply('a')", "+a"),
        (
            "return redis.sha1hex('a')",
            "\"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8\"",
        ),
        ("return {double=3.5}", ",3.5"),
        (
            "return {1,'a',{2,{ok='x'}},{err='E y'}}",
            "[:1 \"a\" [:2 +x] -E y]",
        ),
        (
            "local ok,e = pcall(redis.call,'nope') return {tostring(ok),type(e),e}",
            "[\"false\" \"string\" \"ERR Unknown Redis command called from script\"]",
        ),
        (
            "redis.call('set','fl', 3.5) return redis.call('get', 'fl')",
            "\"3.5\"",
        ),
        (
            "redis.call('set','fl', 1e20) return redis.call('get', 'fl')",
            "\"1e+20\"",
        ),
        (
            "redis.call('set','fl', 0.1) return redis.call('get', 'fl')",
            "\"0.10000000000000001\"",
        ),
        ("return 1e20", ":-9223372036854775808"),
        ("return 0/0", ":-9223372036854775808"),
        ("return redis.replicate_commands()", ":1"),
        ("return redis.set_repl(redis.REPL_ALL)", "nil"),
        ("return redis.breakpoint()", "nil"),
        ("return redis.log(redis.LOG_DEBUG, 'x')", "nil"),
        ("return redis.acl_check_cmd('get', 'k')", ":1"),
        (
            "return redis.sha1hex({})",
            "\"da39a3ee5e6b4b0d3255bfef95601890afd80709\"",
        ),
        ("return redis.error_reply('-a')", "-ERR a"),
        ("return redis.error_reply('')", "-ERR "),
        ("return redis.setresp('3')", "nil"),
        ("return {big_number='123'}", "\"123\""),
        ("return {big_number='1\\r\\n2'}", "\"1  2\""),
        ("return {set={a=true}}", "[\"a\"]"),
        (
            "return {verbatim_string={format='txt', string='abc'}}",
            "\"abc\"",
        ),
        ("return {verbatim_string={string='abc'}}", "[]"),
        ("return {err=1}", "[]"),
        ("return {err='x', ok='y'}", "-x"),
        ("return type(redis.call('get','none'))", "\"boolean\""),
        ("return redis.call('set','k','v')", "+OK"),
        ("return redis.call('set','k','v').ok", "\"OK\""),
        (
            "redis.setresp(3) return type(redis.call('get','none'))",
            "\"nil\"",
        ),
        (
            "return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM}",
            "[\"7.0.15\" :458767]",
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(eval(script), expected, "{script}");
    }
}

#[test]
fn what_could_leave_the_sandbox_is_not_there() {
    for name in [
        "dofile",
        "load",
        "loadfile",
        "loadstring",
        "print",
        "setfenv",
        "getfenv",
        "collectgarbage",
        "require",
        "package",
        "io",
        "os",
        "debug",
        "newproxy",
        "module",
        "gcinfo",
    ] {
        let reply = eval(&format!("return {name}"));
        assert!(
            reply.contains("nonexistent global variable"),
            "{name}: {reply}"
        );
    }
    assert_eq!(eval("return string.dump"), "nil");
    assert_eq!(eval("return getmetatable('')"), "nil");
}
