//! What an update changed that it may not, as a unified diff: some errors end with one.
//!
//! Upstream prints both objects as indented JSON of its internal types and compares the lines as
//! Python's difflib does, so which lines count as moved shows.

use std::collections::HashMap;

use apiwright_json::Value;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// From this many lines on, lines that are everywhere are no landmarks.
const MANY: usize = 200;

/// The difference of two JSON texts; empty where there is none.
pub fn unified(old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let mut out = String::new();
    for group in groups(&operations(&old, &new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (a, b) = (span(first.old.0, last.old.1), span(first.new.0, last.new.1));
        out.push_str(&format!("@@ -{a} +{b} @@\n"));
        for operation in &group {
            let (a, b) = (&old[operation.old.0..operation.old.1], &new[operation.new.0..operation.new.1]);
            if operation.equal {
                show(' ', a, &mut out);
            } else {
                show('-', a, &mut out);
                show('+', b, &mut out);
            }
        }
    }
    out
}

fn show(mark: char, lines: &[String], out: &mut String) {
    for line in lines {
        out.push(mark);
        out.push_str(line);
        out.push('\n');
    }
}

/// `2,7`, `3`, `0,0`
fn span(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// Lines of both texts that belong together.
#[derive(Clone, Copy, Debug)]
struct Operation {
    equal: bool,
    old: (usize, usize),
    new: (usize, usize),
}

/// From the old lines to the new ones.
fn operations(old: &[String], new: &[String]) -> Vec<Operation> {
    let mut blocks = Vec::new();
    Matcher::new(old, new).blocks((0, old.len()), (0, new.len()), &mut blocks);
    blocks.push((old.len(), new.len(), 0));
    let (mut operations, mut i, mut j) = (Vec::<Operation>::new(), 0, 0);
    for (a, b, size) in blocks {
        if i < a || j < b {
            operations.push(Operation { equal: false, old: (i, a), new: (j, b) });
        }
        if size > 0 {
            match operations.last_mut() {
                Some(last) if last.equal => (last.old.1, last.new.1) = (a + size, b + size),
                _ => operations.push(Operation { equal: true, old: (a, a + size), new: (b, b + size) }),
            }
        }
        (i, j) = (a + size, b + size);
    }
    operations
}

/// Changes that are near each other, with what is around them.
fn groups(operations: &[Operation]) -> Vec<Vec<Operation>> {
    let (mut groups, mut group) = (Vec::new(), Vec::new());
    let last = operations.len().saturating_sub(1);
    for (at, operation) in operations.iter().enumerate() {
        let mut shown = *operation;
        if shown.equal {
            let tail = |(start, end): (usize, usize)| (start.max(end.saturating_sub(CONTEXT)), end);
            let head = |(start, end): (usize, usize)| (start, end.min(start + CONTEXT));
            if at == 0 {
                (shown.old, shown.new) = (tail(shown.old), tail(shown.new));
            }
            if at == last {
                (shown.old, shown.new) = (head(shown.old), head(shown.new));
            } else if at > 0 && shown.old.1 - shown.old.0 > 2 * CONTEXT {
                group.push(Operation { old: head(shown.old), new: head(shown.new), ..shown });
                groups.push(std::mem::take(&mut group));
                (shown.old, shown.new) = (tail(shown.old), tail(shown.new));
            }
        }
        group.push(shown);
    }
    if group.iter().any(|operation| !operation.equal) {
        groups.push(group);
    }
    groups
}

/// Finds the longest runs of common lines.
struct Matcher<'a> {
    old: &'a [String],
    new: &'a [String],
    /// Where a line is in the new text.
    places: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Matcher<'a> {
    fn new(old: &'a [String], new: &'a [String]) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, line) in new.iter().enumerate() {
            places.entry(line).or_default().push(at);
        }
        if new.len() >= MANY {
            places.retain(|_, places| places.len() <= new.len() / 100 + 1);
        }
        Self { old, new, places }
    }

    fn blocks(&self, old: (usize, usize), new: (usize, usize), out: &mut Vec<(usize, usize, usize)>) {
        // What is before the longest run, the run, what is behind it: without recursion.
        enum Step {
            Find((usize, usize), (usize, usize)),
            Emit(usize, usize, usize),
        }
        let mut steps = vec![Step::Find(old, new)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Emit(a, b, size) => out.push((a, b, size)),
                Step::Find(old, new) => {
                    let (a, b, size) = self.longest(old, new);
                    if size > 0 {
                        steps.push(Step::Find((a + size, old.1), (b + size, new.1)));
                        steps.push(Step::Emit(a, b, size));
                        steps.push(Step::Find((old.0, a), (new.0, b)));
                    }
                }
            }
        }
    }

    fn longest(&self, old: (usize, usize), new: (usize, usize)) -> (usize, usize, usize) {
        let (mut a, mut b, mut size) = (old.0, new.0, 0);
        let mut runs: HashMap<usize, usize> = HashMap::new();
        for at in old.0..old.1 {
            let mut longer = HashMap::new();
            let places = self.places.get(self.old[at].as_str()).map(Vec::as_slice).unwrap_or_default();
            for &place in places.iter().filter(|place| (new.0..new.1).contains(place)) {
                let before = place.checked_sub(1).and_then(|before| runs.get(&before));
                let run = before.copied().unwrap_or_default() + 1;
                longer.insert(place, run);
                if run > size {
                    (a, b, size) = (at + 1 - run, place + 1 - run, run);
                }
            }
            runs = longer;
        }
        while a > old.0 && b > new.0 && self.old[a - 1] == self.new[b - 1] {
            (a, b, size) = (a - 1, b - 1, size + 1);
        }
        while a + size < old.1 && b + size < new.1 && self.old[a + size] == self.new[b + size] {
            size += 1;
        }
        (a, b, size)
    }
}

/// The lines of a JSON text as Go's `MarshalIndent` has them, one space a level.
fn lines(text: &str) -> Vec<String> {
    let Ok((value, _)) = apiwright_json::decode(text.as_bytes()) else {
        return text.lines().map(str::to_owned).collect();
    };
    let mut out = String::new();
    indent(&value, 0, &mut out);
    out.lines().map(str::to_owned).collect()
}

fn indent(value: &Value, depth: usize, out: &mut String) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', depth));
    };
    match value {
        Value::Object(object) if !object.is_empty() => {
            out.push('{');
            for (at, (key, value)) in object.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(out, depth + 1);
                out.push_str(&apiwright_json::to_string(&Value::String(key.clone())));
                out.push_str(": ");
                indent(value, depth + 1, out);
            }
            line(out, depth);
            out.push('}');
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(out, depth + 1);
                indent(item, depth + 1, out);
            }
            line(out, depth);
            out.push(']');
        }
        value => out.push_str(&apiwright_json::to_string(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn differences() {
        let table = [
            (r#"{"a":1}"#, r#"{"a":1}"#, ""),
            (r#"{"a":1}"#, r#"{"a":2}"#, "@@ -1,3 +1,3 @@\n {\n- \"a\": 1\n+ \"a\": 2\n }\n"),
            (
                r#"{"a":null}"#,
                r#"{"a":[1]}"#,
                "@@ -1,3 +1,5 @@\n {\n- \"a\": null\n+ \"a\": [\n+  1\n+ ]\n }\n",
            ),
            (
                r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}"#,
                r#"{"a":0,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":0}"#,
                "@@ -1,5 +1,5 @@\n {\n- \"a\": 1,\n+ \"a\": 0,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": 4,\n\
                 @@ -7,5 +7,5 @@\n  \"f\": 6,\n  \"g\": 7,\n  \"h\": 8,\n- \"i\": 9\n+ \"i\": 0\n }\n",
            ),
            ("1", "2", "@@ -1 +1 @@\n-1\n+2\n"),
        ];
        for (old, new, expected) in table {
            assert_eq!(unified(old, new), expected, "{old} {new}");
        }
    }
}
