//! `JSONPath` as `k8s.io/client-go/util/jsonpath` has it, as far as printer columns go: one path that
//! finds values in an object. Missing members find nothing; whatever upstream calls an error finds
//! nothing, too.

use apiwright_json::Value;

/// A parsed path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A member of an object.
    Field(String),
    /// All members or items.
    Wildcard,
    /// Everything below, the value itself first.
    Recursive,
    /// Some items of a list.
    Slice { start: i64, end: End, step: usize },
    /// What each of these finds, one after the other.
    Union(Vec<JsonPath>),
    /// The items for which it holds.
    Filter(Filter),
    /// A value of its own, on one side of a comparison.
    Literal(Value),
}

/// Where a slice ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// After one item.
    One,
    /// Before this item.
    Before(i64),
    /// With the list.
    All,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: JsonPath,
    comparison: Option<(Operator, JsonPath)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Parses what stands between the braces of a template: `.spec.items[0]`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text };
        let mut steps = Vec::new();
        while parser.step(&mut steps)? {}
        Some(Self(steps))
    }

    /// The first value that it finds.
    pub(crate) fn first<'a>(&'a self, value: &'a Value) -> Option<&'a Value> {
        self.find(value)?.first().copied()
    }

    fn find<'a>(&'a self, value: &'a Value) -> Option<Vec<&'a Value>> {
        self.0.iter().try_fold(vec![value], |found, step| step.find(&found))
    }
}

impl Step {
    fn find<'a>(&'a self, from: &[&'a Value]) -> Option<Vec<&'a Value>> {
        let mut found = Vec::new();
        match self {
            Self::Literal(value) => found.push(value),
            Self::Field(name) => found.extend(from.iter().filter_map(|value| value.get(name))),
            Self::Wildcard => from.iter().for_each(|value| found.extend(children(value))),
            Self::Recursive => from.iter().for_each(|value| below(value, &mut found)),
            Self::Union(paths) => {
                for path in paths {
                    for value in from {
                        found.extend(path.find(value)?);
                    }
                }
            }
            Self::Slice { start, end, step } => {
                for value in from.iter().filter(|value| !value.is_null()) {
                    found.extend(slice(value.as_array()?, *start, *end)?.iter().step_by(*step));
                }
            }
            Self::Filter(filter) => {
                for value in from.iter().filter(|value| !value.is_null()) {
                    for item in value.as_array()? {
                        if filter.holds(item)? {
                            found.push(item);
                        }
                    }
                }
            }
        }
        Some(found)
    }
}

impl Filter {
    fn holds(&self, item: &Value) -> Option<bool> {
        let left = self.left.find(item)?;
        let Some((operator, right)) = &self.comparison else { return Some(!left.is_empty()) };
        let right = right.find(item)?;
        match (left.as_slice(), right.as_slice()) {
            ([], _) | (_, []) => Some(false),
            ([left], [right]) => compare(left, *operator, right),
            _ => None,
        }
    }
}

/// Values of one kind only can be compared.
fn compare(left: &Value, operator: Operator, right: &Value) -> Option<bool> {
    let order = match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right)?,
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        _ => return None,
    };
    Some(match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterOrEqual => order.is_ge(),
    })
}

fn slice(items: &[Value], start: i64, end: End) -> Option<&[Value]> {
    let length = items.len() as i64;
    let from = if start < 0 { start + length } else { start };
    let to = match end {
        End::All => length,
        End::One => from + 1,
        End::Before(end) if end < 0 => end + length,
        End::Before(end) => end,
    };
    if from == to {
        return Some(&[]);
    }
    let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
    items.get(range)
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(object) => object.values().collect(),
        _ => Vec::new(),
    }
}

fn below<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    found.push(value);
    for child in children(value) {
        below(child, found);
    }
}

/// What is not read yet.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Reads a step; says whether there was one.
    fn step(&mut self, steps: &mut Vec<Step>) -> Option<bool> {
        if let Some(rest) = self.rest.strip_prefix("[?(") {
            self.rest = rest;
            steps.push(Step::Filter(self.filter()?));
        } else if let Some(rest) = self.rest.strip_prefix("..") {
            self.rest = rest;
            steps.push(Step::Recursive);
            if self.rest.starts_with(is_name) {
                steps.push(self.field());
            }
        } else {
            let Some(first) = self.rest.chars().next() else { return Some(false) };
            match first {
                ' ' | '@' | '$' => self.skip(first),
                '.' => {
                    self.skip(first);
                    steps.push(self.field());
                }
                '[' => steps.extend(self.brackets()?),
                '"' | '\'' => {
                    self.skip(first);
                    let (text, rest) = self.rest.split_once(first)?;
                    self.rest = rest;
                    steps.push(Step::Literal(text.into()));
                }
                '+' | '-' | '0'..='9' => steps.push(Step::Literal(self.number()?)),
                _ if is_name(first) => steps.push(Step::Literal(match self.word() {
                    "true" => true.into(),
                    "false" => false.into(),
                    _ => return None,
                })),
                _ => return None,
            }
        }
        Some(true)
    }

    /// A member's name; a backslash takes away what the next character means.
    fn field(&mut self) -> Step {
        let mut name = String::new();
        let mut chars = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
                ' ' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' => {
                    end = at;
                    break;
                }
                c => name.push(c),
            }
        }
        self.rest = &self.rest[end..];
        if name == "*" { Step::Wildcard } else { Step::Field(name) }
    }

    /// `[0]`, `[1:3]`, `[*]`, `['name']`, `[0,2]`.
    fn brackets(&mut self) -> Option<Vec<Step>> {
        let (inside, rest) = self.rest.strip_prefix('[')?.split_once(']')?;
        self.rest = rest;
        if inside.contains(',') {
            let paths = inside.split(',').map(|one| JsonPath::parse(&format!("[{}]", one.trim_matches(' '))));
            return Some(vec![Step::Union(paths.collect::<Option<_>>()?)]);
        }
        if let Some(name) = inside.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            return JsonPath::parse(&format!(".{name}")).map(|path| path.0);
        }
        let inside = if inside == "*" { ":" } else { inside };
        let mut parts = inside.split(':');
        let number =
            |text: &str| if text.is_empty() { Some(None) } else { text.parse::<i64>().ok().map(Some) };
        let start = number(parts.next()?)?;
        let end = match parts.next() {
            None => End::One,
            Some(text) => number(text)?.map_or(End::All, End::Before),
        };
        let step = parts.next().map_or(Some(None), number)?.unwrap_or(1);
        let step = usize::try_from(step).ok().filter(|step| *step > 0)?;
        if parts.next().is_some() || (start.is_none() && end == End::One) {
            return None;
        }
        Some(vec![Step::Slice { start: start.unwrap_or_default(), end, step }])
    }

    /// `@.type=="Ready")]`: all behind `[?(`.
    fn filter(&mut self) -> Option<Filter> {
        let (mut quote, mut close, mut escaped) = (None, None, false);
        for (at, c) in self.rest.char_indices() {
            match (quote, c) {
                _ if escaped => escaped = false,
                (_, '\\') => escaped = true,
                (Some(open), c) if c == open => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, ')') => {
                    close = Some(at);
                    break;
                }
                _ => {}
            }
        }
        let (inside, rest) = self.rest.split_at(close?);
        self.rest = rest.strip_prefix(")]")?;
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let Some(at) = inside.find(is_operator) else {
            return Some(Filter { left: JsonPath::parse(inside)?, comparison: None });
        };
        let (left, rest) = inside.split_at(at);
        let end = rest.find(|c| !is_operator(c))?;
        let (operator, right) = rest.split_at(end);
        let operator = match operator {
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            _ => return None,
        };
        let comparison = Some((operator, JsonPath::parse(right)?));
        Some(Filter { left: JsonPath::parse(left)?, comparison })
    }

    fn number(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| !matches!(c, '+' | '-' | '.' | '0'..='9' | 'e' | 'E'));
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        text.parse::<i64>().map(Value::Int).or_else(|_| text.parse::<f64>().map(Value::Float)).ok()
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn skip(&mut self, c: char) {
        self.rest = &self.rest[c.len_utf8()..];
    }
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_client_go_finds() {
        let object = r#"{"metadata":{"labels":{"a.b/c":"label"}},"spec":{"conds":[{"type":"Done","status":"No"},
            {"type":"Ready","status":"True","n":2}],"l":["a","b","c"],"o":{"x":"y"},"empty":[],"null":null}}"#;
        let object = apiwright_json::decode(object.as_bytes()).expect("JSON").0;
        let cases = [
            (".spec.conds[?(@.type==\"Ready\")].status", Some("\"True\"")),
            (".spec.conds[?(@.type=='Done')].status", Some("\"No\"")),
            (".spec.conds[?(@.n>1)].type", Some("\"Ready\"")),
            (".spec.conds[?(@.type>1)].type", None),
            (".spec.conds[?(@.n)].type", Some("\"Ready\"")),
            (".spec.conds[?(@.type!='Done')].n", Some("2")),
            (".spec.conds[?(@.type=='None')].status", None),
            (".spec.conds[*].type", Some("\"Done\"")),
            (".spec.l[0]", Some("\"a\"")),
            (".spec.l[-1]", Some("\"c\"")),
            (".spec.l[1:]", Some("\"b\"")),
            (".spec.l[0:3:2]", Some("\"a\"")),
            (".spec.l[3]", None),
            (".spec.l[2,0]", Some("\"c\"")),
            (".spec.l[*]", Some("\"a\"")),
            (".spec.empty[*]", None),
            (".spec.o[*]", None),
            (".spec.o.*", Some("\"y\"")),
            (".spec['o'].x", Some("\"y\"")),
            ("..x", Some("\"y\"")),
            (".spec.o", Some(r#"{"x":"y"}"#)),
            (".spec.none.at.all", None),
            (".spec.null.x", None),
            ("$.spec.o.x", Some("\"y\"")),
            (r".metadata.labels.a\.b/c", Some("\"label\"")),
        ];
        for (path, expected) in cases {
            let parsed = JsonPath::parse(path).expect(path);
            let found = parsed.first(&object).map(apiwright_json::to_string);
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn refuses() {
        for path in
            [".spec[", ".spec[a]", ".spec[?(@.a=b)]", ".a[?(@.b", "nonsense", ".l[::0]", ".l[1:2:3:4]"]
        {
            assert_eq!(JsonPath::parse(path), None, "{path}");
        }
    }
}
