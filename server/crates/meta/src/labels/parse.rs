//! The lexer and parser of label selectors.
//!
//! Invariant: accepts and refuses what upstream's does, with its words, which name the token at fault.

use std::collections::BTreeSet;

use super::{LabelSelector, Operator, Requirement};
use crate::field::{ErrorList, Path, quoted};
use crate::names;

pub(super) fn parse(text: &str, path: &Path) -> Result<LabelSelector, String> {
    let mut parser = Parser { tokens: lex(text), at: 0, path };
    let mut requirements = Vec::new();
    loop {
        match parser.peek().kind {
            Kind::Word | Kind::Not => {}
            Kind::End => break,
            _ => return Err(parser.found(", expected: !, identifier, or 'end of string'")),
        }
        let requirement =
            parser.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
        requirements.push(requirement);
        match parser.peek().kind {
            Kind::End => break,
            Kind::Comma => parser.at += 1,
            _ => return Err(parser.found(", expected: ',' or 'end of string'")),
        }
        if !matches!(parser.peek().kind, Kind::Word | Kind::Not) {
            return Err(parser.found(", expected: identifier after ','"));
        }
    }
    Ok(LabelSelector::of(requirements))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    End,
    Close,
    Comma,
    Not,
    Operator(Operator),
    /// A key or value. `in` and `notin` are words where no operator may stand.
    Word,
    Open,
}

struct Token {
    kind: Kind,
    text: String,
}

fn lex(text: &str) -> Vec<Token> {
    // Upstream reads a NUL as the end.
    let text = text.split('\0').next().unwrap_or_default();
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while let Some(first) = rest.chars().next() {
        let token = if is_symbol(first) { symbol(rest) } else { word(rest) };
        rest = rest[token.1..].trim_start_matches(is_space);
        tokens.push(token.0);
    }
    tokens.push(Token { kind: Kind::End, text: String::new() });
    tokens
}

/// The longest symbol that the text starts with. Every symbol but `==` and `!=` is one character.
fn symbol(text: &str) -> (Token, usize) {
    let kind = match text.as_bytes() {
        [b'=', b'=', ..] => Kind::Operator(Operator::DoubleEquals),
        [b'!', b'=', ..] => Kind::Operator(Operator::NotEquals),
        [b'>', ..] => Kind::Operator(Operator::GreaterThan),
        [b'<', ..] => Kind::Operator(Operator::LessThan),
        [b'!', ..] => Kind::Not,
        [b'(', ..] => Kind::Open,
        [b')', ..] => Kind::Close,
        [b',', ..] => Kind::Comma,
        // One is left.
        _ => Kind::Operator(Operator::Equals),
    };
    let len =
        if matches!(kind, Kind::Operator(Operator::DoubleEquals | Operator::NotEquals)) { 2 } else { 1 };
    (Token { kind, text: text[..len].into() }, len)
}

fn word(text: &str) -> (Token, usize) {
    let len = text.find(|c| is_symbol(c) || is_space(c)).unwrap_or(text.len());
    let kind = match &text[..len] {
        "in" => Kind::Operator(Operator::In),
        "notin" => Kind::Operator(Operator::NotIn),
        _ => Kind::Word,
    };
    (Token { kind, text: text[..len].into() }, len)
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    path: &'a Path,
}

/// A token where no operator may stand.
struct Found<'a> {
    kind: Kind,
    text: &'a str,
}

impl Parser<'_> {
    fn peek(&self) -> Found<'_> {
        let token = self.token();
        let kind = match token.kind {
            Kind::Operator(Operator::In | Operator::NotIn) => Kind::Word,
            kind => kind,
        };
        Found { kind, text: &token.text }
    }

    fn token(&self) -> &Token {
        // The last token is the end, and stays at hand.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn found(&self, expected: &str) -> String {
        format!("found '{}'{expected}", self.token().text)
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek().kind == Kind::Not;
        self.at += usize::from(negated);
        let Found { kind: Kind::Word, text } = self.peek() else {
            return Err(self.found(", expected: identifier"));
        };
        let key = text.to_owned();
        let faults = names::label_key(&key);
        if !faults.is_empty() {
            let mut errors = ErrorList::new();
            errors.invalid(self.path.clone(), quoted(&key), &faults.join("; "));
            return Err(errors.aggregate());
        }
        self.at += 1;
        if negated || matches!(self.peek().kind, Kind::End | Kind::Comma) {
            let operator = if negated { Operator::DoesNotExist } else { Operator::Exists };
            return Requirement::new(&key, operator, Vec::new(), self.path);
        }
        let Kind::Operator(operator) = self.token().kind else {
            return Err(self.found(", expected: in, notin, =, ==, !=, gt, lt"));
        };
        self.at += 1;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => self.exact_value()?,
        };
        Requirement::new(&key, operator, values.into_iter().collect(), self.path)
    }

    fn exact_value(&mut self) -> Result<BTreeSet<String>, String> {
        let Found { kind, text } = self.peek();
        let value = match kind {
            Kind::End | Kind::Comma => String::new(),
            Kind::Word => {
                let value = text.to_owned();
                self.at += 1;
                value
            }
            _ => return Err(self.found(", expected: identifier")),
        };
        Ok(BTreeSet::from([value]))
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        if self.peek().kind != Kind::Open {
            return Err(self.found(" expected: '('"));
        }
        self.at += 1;
        match self.peek().kind {
            Kind::Close => {
                self.at += 1;
                Ok(BTreeSet::from([String::new()]))
            }
            Kind::Word | Kind::Comma => {
                let values = self.list()?;
                // The list ends before its closing parenthesis.
                self.at += 1;
                Ok(values)
            }
            _ => Err(self.found(", expected: ',', ')' or identifier")),
        }
    }

    /// The values up to the closing parenthesis; nothing between two commas is an empty value.
    fn list(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            let Found { kind, text } = self.peek();
            match kind {
                Kind::Word => {
                    values.insert(text.to_owned());
                    self.at += 1;
                    match self.peek().kind {
                        Kind::Comma => {}
                        Kind::Close => return Ok(values),
                        _ => return Err(self.found(", expected: ',' or ')'")),
                    }
                }
                Kind::Comma => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    self.at += 1;
                    match self.peek().kind {
                        Kind::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Kind::Comma => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                _ => return Err(self.found(", expected: ',', or identifier")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<String, String> {
        parse(text, &Path::default()).map(|selector| selector.to_string())
    }

    #[test]
    fn selectors_show_in_canonical_form() {
        let table = [
            ("", ""),
            (" b , a ", "a,b"),
            ("!a", "!a"),
            ("x=a,y=b", "x=a,y=b"),
            ("a == b", "a==b"),
            ("x in (b,a,b)", "x in (a,b)"),
            ("x notin ()", "x notin ()"),
            ("x in (,a)", "x in (,a)"),
            ("x in (a,,b,)", "x in (,a,b)"),
            ("x=,y", "x=,y"),
            ("x>1,y<2", "x>1,y<2"),
            ("in in (in,notin)", "in in (in,notin)"),
            ("notin", "notin"),
            ("a!=b", "a!=b"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn faults_have_the_words_of_upstream() {
        let table = [
            ("=", "found '=', expected: !, identifier, or 'end of string'"),
            (",a", "found ',', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a,,b", "found ',', expected: identifier after ','"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
            ("a in (b,=", "unable to parse requirement: found '=', expected: ',', or identifier"),
            ("a=(", "unable to parse requirement: found '(', expected: identifier"),
            ("!!a", "unable to parse requirement: found '!', expected: identifier"),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value \
                 must be an integer",
            ),
            (
                "-a=b",
                "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric \
                 characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  \
                 or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ),
            (
                "a=-b",
                "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be an empty \
                 string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                 '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), Err(expected.into()), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_parses_or_fails(text in r"[a-c!=<>(), \x00é]{0,16}|.*") {
            if let Ok(shown) = shown(&text) {
                assert_eq!(super::tests::shown(&shown), Ok(shown));
            }
        }
    }
}
