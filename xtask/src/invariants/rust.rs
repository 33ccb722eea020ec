//! Rust sources as tokens without comments and literals, and the paths in them.

/// The tokens of a file: identifiers, `::`, and single other characters.
pub(super) struct Code<'t> {
    pub(super) tokens: Vec<Token<'t>>,
}

/// A token and its line, from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    pub(super) line: usize,
}

/// A path such as `std::net::TcpStream`, one for each name that a `use` with braces imports.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) text: String,
    pub(super) line: usize,
}

impl<'t> Code<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut tokens = Vec::new();
        let (mut at, mut line) = (0, 1);
        while at < text.len() {
            let (length, is_token) = next(&text[at..]);
            let piece = &text[at..at + length];
            if is_token {
                tokens.push(Token { text: piece, line });
            }
            line += piece.matches('\n').count();
            at += length;
        }
        Self { tokens }
    }

    /// All paths, imported or used in place.
    pub(super) fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            at = if self.begins_path(at) {
                self.path(at, "", &mut paths)
            } else {
                at + 1
            };
        }
        paths
    }

    /// A name that is not a part of a path that began before it.
    fn begins_path(&self, at: usize) -> bool {
        let text = |back: usize| at.checked_sub(back).map(|at| self.tokens[at].text);
        is_name(self.tokens[at].text)
            && (text(1) != Some("::")
                || text(2).is_none_or(|before| !is_name(before) && before != ">"))
    }

    /// Reads a path from there on; what comes after it.
    fn path(&self, mut at: usize, before: &str, paths: &mut Vec<Path>) -> usize {
        let (mut text, mut line) = (before.to_owned(), 0);
        while let Some(token) = self
            .tokens
            .get(at)
            .filter(|token| is_name(token.text) || token.text == "*")
        {
            if !text.is_empty() {
                text.push_str("::");
            }
            text.push_str(token.text);
            line = token.line;
            at += 1;
            if self.text(at) != "::" {
                break;
            }
            at += 1;
        }
        if self.text(at) == "{" && at > 0 && self.text(at - 1) == "::" {
            return self.group(at + 1, &text, paths);
        }
        paths.push(Path { text, line });
        at
    }

    /// Reads what stands between the braces of a `use`.
    fn group(&self, mut at: usize, before: &str, paths: &mut Vec<Path>) -> usize {
        while at < self.tokens.len() {
            at = match self.text(at) {
                "}" => return at + 1,
                text if is_name(text) && self.text(at.saturating_sub(1)) != "as" => {
                    self.path(at, before, paths)
                }
                _ => at + 1,
            };
        }
        at
    }

    /// All tokens inside of attributes.
    pub(super) fn attributes(&self) -> Vec<Token<'t>> {
        let mut inside = Vec::new();
        let mut depth = 0_u32;
        for (at, token) in self.tokens.iter().enumerate() {
            let opens = self.text(at.wrapping_sub(1)) == "#"
                || (self.text(at.wrapping_sub(1)) == "!" && self.text(at.wrapping_sub(2)) == "#");
            match token.text {
                "[" if depth > 0 || opens => depth += 1,
                "]" if depth > 0 => depth -= 1,
                _ if depth > 0 => inside.push(*token),
                _ => {}
            }
        }
        inside
    }

    fn text(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |token| token.text)
    }
}

fn is_name(text: &str) -> bool {
    text != "as" && text.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// How long the next piece of a source is, and whether it is a token.
fn next(text: &str) -> (usize, bool) {
    let first = text.chars().next().map_or(1, char::len_utf8);
    let name = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    if let Some(length) = comment(text)
        .or_else(|| raw_string(text))
        .or_else(|| quoted(text))
    {
        (length, false)
    } else if text.starts_with("::") {
        (2, true)
    } else if name > 0 {
        (name, true)
    } else {
        (first, !text.starts_with(char::is_whitespace))
    }
}

fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_u32, 0);
    loop {
        match text.get(at..at + 2) {
            Some("/*") => (depth, at) = (depth + 1, at + 2),
            Some("*/") if depth == 1 => return Some(at + 2),
            Some("*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
        if at >= text.len() {
            return Some(text.len());
        }
    }
}

/// `r"..."`, `r#"..."#`, and the same of bytes and of C.
fn raw_string(text: &str) -> Option<usize> {
    let rest = ["r", "br", "cr"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let body = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let close = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(text.len() - body.len() + close)
}

/// Strings and characters; a lifetime is none.
fn quoted(text: &str) -> Option<usize> {
    if let Some(body) = text.strip_prefix('"') {
        return Some(1 + string(body));
    }
    let body = text.strip_prefix('\'')?;
    // After a backslash one character is never the end.
    let skipped = if body.starts_with('\\') {
        2
    } else {
        body.chars().next()?.len_utf8()
    };
    let end = body.get(skipped..)?.find('\'')?;
    (end == 0 || skipped == 2).then_some(1 + skipped + end + 1)
}

/// The length of a string's rest, with its closing quote.
fn string(body: &str) -> usize {
    let mut characters = body.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '"' => return at + 1,
            _ => {}
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<&str> {
        Code::of(text)
            .tokens
            .iter()
            .map(|token| token.text)
            .collect()
    }

    fn paths(text: &str) -> Vec<String> {
        Code::of(text)
            .paths()
            .into_iter()
            .map(|path| path.text)
            .collect()
    }

    #[test]
    fn comments_and_literals_are_no_tokens() {
        assert_eq!(tokens("a // b\nc /* d /* e */ f */ g"), ["a", "c", "g"]);
        assert_eq!(tokens(r##"a "b \" c" r#"d " e"# f"##), ["a", "f"]);
        assert_eq!(tokens(r"a '\'' 'b' '\u{1F600}' '语' f"), ["a", "f"]);
        assert_eq!(tokens("&'a str"), ["&", "'", "a", "str"]);
        assert_eq!(tokens("f('x', 'y') g"), ["f", "(", ",", ")", "g"]);
    }

    #[test]
    fn tokens_know_their_lines() {
        let code = Code::of("a /*\n*/ b\n\"\n\" c");
        let lines: Vec<usize> = code.tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 4]);
    }

    #[test]
    fn a_use_with_braces_is_one_path_for_each_name() {
        let text = "use std::{fs, net::{self, TcpStream as T}};";
        let expected = ["use", "std::fs", "std::net::self", "std::net::TcpStream"];
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn paths_are_found_where_they_are_used() {
        assert_eq!(paths("::std::fs::read(x)"), ["std::fs::read", "x"]);
        assert_eq!(paths("Vec::<u8>::new()"), ["Vec", "u8"]);
    }

    #[test]
    fn attributes_end_with_their_bracket() {
        let code = Code::of("#![a] #[b(c, d = \"e\")] f[g] #[h([i])] j");
        let words: Vec<&str> = code.attributes().iter().map(|token| token.text).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| is_name(word)).collect();
        assert_eq!(words, ["a", "b", "c", "d", "h", "i"]);
    }

    #[test]
    fn sources_that_are_cut_off_end() {
        for text in ["\"a", "r#\"a", "/* a", "'", "'\\", "b'", "use a::{b"] {
            Code::of(text).paths();
        }
    }
}
