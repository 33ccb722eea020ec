//! When two replies count as the same: by byte, but for times and for orders that Redis leaves open.

use super::Request;

/// How far apart two times may be: the machine's clock is read by two processes, one after the other.
const TOLERANCE_MILLIS: i64 = 5;

/// A reply as a tree: the first line of a value, and what belongs to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tree {
    line: Vec<u8>,
    text: Vec<u8>,
    parts: Vec<Tree>,
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.line.escape_ascii())?;
        if !self.text.is_empty() {
            write!(f, " {:?}", self.text.escape_ascii().to_string())?;
        }
        if self.parts.is_empty() {
            Ok(())
        } else {
            write!(f, " {:?}", self.parts)
        }
    }
}

impl Tree {
    pub(super) fn parse(bytes: &[u8]) -> Tree {
        let (tree, rest) = Tree::split(bytes);
        assert!(rest.is_empty(), "more than one value");
        tree
    }

    fn split(bytes: &[u8]) -> (Tree, &[u8]) {
        let end = bytes
            .windows(2)
            .position(|pair| pair == b"\r\n")
            .expect("a line");
        let (line, mut rest) = (bytes[..end].to_vec(), &bytes[end + 2..]);
        let count = std::str::from_utf8(&line[1..])
            .ok()
            .and_then(|count| count.parse().ok());
        let (mut text, mut parts) = (Vec::new(), Vec::new());
        match (line[0], count) {
            (b'$', Some(length)) => {
                text = rest[..length].to_vec();
                rest = &rest[length + 2..];
            }
            (b'*' | b'>', Some(count)) => {
                for _ in 0..count {
                    let (part, after) = Tree::split(rest);
                    parts.push(part);
                    rest = after;
                }
            }
            _ => {}
        }
        (Tree { line, text, parts }, rest)
    }

    pub(super) fn is_queued(&self) -> bool {
        self.line == b"+QUEUED"
    }

    fn integer(&self) -> Option<i64> {
        std::str::from_utf8(self.line.strip_prefix(b":")?)
            .ok()?
            .parse()
            .ok()
    }

    fn number(&self) -> Option<i64> {
        std::str::from_utf8(&self.text).ok()?.parse().ok()
    }

    /// In pairs, as a map or a list of pairs comes in RESP2.
    fn sort_pairs(&mut self) {
        let mut pairs: Vec<[Tree; 2]> = self
            .parts
            .chunks_exact(2)
            .map(|pair| [pair[0].clone(), pair[1].clone()])
            .collect();
        pairs.sort();
        self.parts = pairs.into_iter().flatten().collect();
    }
}

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    /// Only times are too far apart: a busy machine does that, so it is worth another try.
    Late,
    Different,
}

/// Compares the replies to a request; for EXEC, to the requests that were queued.
pub(super) fn compare(request: &Request, queued: &[Request], theirs: Tree, ours: Tree) -> Verdict {
    let name = request[0].to_ascii_uppercase();
    if name == b"EXEC" && theirs.parts.len() == queued.len() && ours.parts.len() == queued.len() {
        let replies = theirs.parts.into_iter().zip(ours.parts);
        let each = queued.iter().zip(replies);
        let verdicts: Vec<Verdict> = each
            .map(|(request, (theirs, ours))| compare(request, &[], theirs, ours))
            .collect();
        let worst = |verdict| verdicts.contains(&verdict);
        return if worst(Verdict::Different) {
            Verdict::Different
        } else if worst(Verdict::Late) {
            Verdict::Late
        } else {
            Verdict::Same
        };
    }
    if let Some(apart) = apart(&name, &theirs, &ours) {
        return if apart <= TOLERANCE_MILLIS {
            Verdict::Same
        } else {
            Verdict::Late
        };
    }
    if in_order(&name, request, theirs) == in_order(&name, request, ours) {
        Verdict::Same
    } else {
        Verdict::Different
    }
}

/// How many milliseconds two times are apart, where both replies are times.
fn apart(name: &[u8], theirs: &Tree, ours: &Tree) -> Option<i64> {
    let unit = match name {
        b"PTTL" | b"PEXPIRETIME" => 1,
        // Rounded to the second: next to each other is near enough.
        b"TTL" | b"EXPIRETIME" => TOLERANCE_MILLIS,
        b"TIME" => {
            let millis = |tree: &Tree| -> Option<i64> {
                let [seconds, micros] = &tree.parts[..] else {
                    return None;
                };
                Some(seconds.number()? * 1000 + micros.number()? / 1000)
            };
            return Some((millis(theirs)? - millis(ours)?).abs());
        }
        _ => return None,
    };
    let (theirs, ours) = (theirs.integer()?, ours.integer()?);
    // "No such key" and "no expiry" are no times.
    (theirs >= 0 && ours >= 0).then(|| (theirs - ours).abs() * unit)
}

/// The order of a table is that of a hash function, which Redis promises nobody.
fn in_order(name: &[u8], request: &Request, mut tree: Tree) -> Tree {
    let subcommand = request.get(1).map(|word| word.to_ascii_uppercase());
    match (name, subcommand.as_deref()) {
        (b"KEYS", _) | (b"PUBSUB", Some(b"CHANNELS")) => tree.parts.sort(),
        (b"SCAN", _) if tree.parts.len() == 2 => tree.parts[1].parts.sort(),
        (b"HGETALL", _) | (b"CONFIG", Some(b"GET")) => tree.sort_pairs(),
        (b"EVAL", _)
            if request
                .iter()
                .any(|word| word.ends_with(b"redis.call('hgetall',KEYS[1])")) =>
        {
            tree.sort_pairs();
        }
        _ => {}
    }
    tree
}
