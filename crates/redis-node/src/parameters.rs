//! `CONFIG GET` and `CONFIG SET`: the parameters of `redis.conf` that the node knows.

mod durability;

use std::borrow::Cow;

use crate::{Config, Eviction};

/// One parameter.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// An older name for the same thing.
    pub(crate) alias: Option<&'static str>,
    pub(crate) get: fn(&Config) -> Cow<'static, str>,
    pub(crate) set: Set,
}

/// What a new value does. An error is the text that Redis puts after the parameter's name.
pub(crate) type Change = fn(&mut Config, &str) -> Result<(), Cow<'static, str>>;

/// Whether and how a parameter can be changed.
pub(crate) enum Set {
    To(Change),
    /// The node models one value, while Redis knows others; that one may be set, too.
    Fixed,
    /// Redis itself does not let it be changed.
    Never,
}

const fn fixed(name: &'static str, get: fn(&Config) -> Cow<'static, str>) -> Parameter {
    Parameter {
        name,
        alias: None,
        get,
        set: Set::Fixed,
    }
}

const fn immutable(name: &'static str, get: fn(&Config) -> Cow<'static, str>) -> Parameter {
    Parameter {
        name,
        alias: None,
        get,
        set: Set::Never,
    }
}

const fn parameter(
    name: &'static str,
    get: fn(&Config) -> Cow<'static, str>,
    set: Change,
) -> Parameter {
    Parameter {
        name,
        alias: None,
        get,
        set: Set::To(set),
    }
}

/// All of them, by name.
pub(crate) const PARAMETERS: &[Parameter] = &[
    fixed("bind", |_| "* -::*".into()),
    fixed("busy-reply-threshold", |_| "5000".into()),
    immutable("databases", |_| "1".into()),
    immutable("enable-debug-command", |config| {
        yes_or_no(config.debug_command)
    }),
    fixed("hz", |_| "10".into()),
    fixed("lua-time-limit", |_| "5000".into()),
    fixed("maxclients", |_| "10000".into()),
    parameter(
        "maxmemory",
        |config| config.maxmemory_bytes.to_string().into(),
        |config, value| {
            let bytes = memory(value).ok_or("argument must be a memory value")?;
            config.maxmemory_bytes = bytes;
            Ok(())
        },
    ),
    parameter(
        "maxmemory-policy",
        |config| config.eviction.name().into(),
        |config, value| {
            let name = POLICIES[choice(value, POLICIES)?];
            let known = Eviction::ALL
                .into_iter()
                .find(|policy| policy.name() == name);
            config.eviction = known.ok_or("policies by frequency of use are not modelled")?;
            Ok(())
        },
    ),
    fixed("maxmemory-samples", |_| "5".into()),
    fixed("notify-keyspace-events", |_| "".into()),
    fixed("proto-max-bulk-len", |_| "536870912".into()),
    fixed("requirepass", |_| "".into()),
    fixed("tcp-keepalive", |_| "300".into()),
    fixed("timeout", |_| "0".into()),
];

/// Redis's policies, in the order of its own list.
const POLICIES: [&str; 8] = [
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
];

/// The parameter of that name, with the name as it was meant.
pub(crate) fn find(name: &[u8]) -> Option<(&'static str, &'static Parameter)> {
    names().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name))
}

/// All names, aliases included.
pub(crate) fn names() -> impl Iterator<Item = (&'static str, &'static Parameter)> {
    let all = PARAMETERS.iter().chain(durability::PARAMETERS);
    all.flat_map(|parameter| {
        std::iter::once(parameter.name)
            .chain(parameter.alias)
            .map(move |name| (name, parameter))
    })
}

pub(crate) fn yes_or_no(truth: bool) -> Cow<'static, str> {
    if truth { "yes" } else { "no" }.into()
}

/// Which of the words it is, in any case.
pub(crate) fn choice<const N: usize>(
    value: &str,
    known: [&'static str; N],
) -> Result<usize, Cow<'static, str>> {
    let found = known
        .iter()
        .position(|known| known.eq_ignore_ascii_case(value));
    found.ok_or_else(|| {
        format!(
            "argument(s) must be one of the following: {}",
            known.join(", ")
        )
        .into()
    })
}

/// Bytes with a unit: `1k` is a thousand, `1kb` 1024.
pub(crate) fn memory(value: &str) -> Option<u64> {
    let end = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_with_its_unit() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("1mb", Some(1_048_576)),
            ("1M", Some(1_000_000)),
            ("1KB", Some(1024)),
            ("7b", Some(7)),
            ("-1", None),
            ("1.5mb", None),
            ("", None),
            ("mb", None),
        ] {
            assert_eq!(memory(text), bytes, "{text:?}");
        }
    }
}
