//! What expressions mean, as kube-apiserver 1.36 has it.

use apiwright_cel::{CALL_LIMIT, Decl, Env, Val};
use apiwright_json::Value;

fn json(text: &str) -> Value {
    apiwright_json::decode(text.as_bytes()).expect("JSON").0
}

/// What an expression over a declared value gives, or its fault.
fn evaluated(schema: &str, value: &str, expression: &str) -> String {
    let decl = Decl::of_schema(&json(schema), false, "self").expect("a declaration");
    let program = match Env::new().with_decl("self", &decl).compile(expression) {
        Ok(program) => program,
        Err(issues) => return issues.to_string(),
    };
    let value = json(value);
    let own = match Val::declared(&value, &decl) {
        Ok(own) => own,
        Err(why) => return why.to_string(),
    };
    match program.evaluate(&[own], CALL_LIMIT).value {
        Ok(value) => {
            value.to_json().map_or_else(|why| why.to_string(), |value| apiwright_json::to_string(&value))
        }
        Err(why) => why.to_string(),
    }
}

const OBJECT: &str = r#"{"type":"object","properties":{
    "t":{"type":"integer"},"s":{"type":"string"},"n":{"type":"number"},
    "l":{"type":"array","items":{"type":"integer"}},
    "m":{"type":"object","additionalProperties":{"type":"integer"}},
    "o":{"type":"object","properties":{"a":{"type":"string"},"a-b":{"type":"string"}}},
    "nul":{"type":"string","nullable":true},
    "when":{"type":"string","format":"date-time"},
    "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
    "any":{"x-kubernetes-int-or-string":true}}}"#;
const VALUE: &str = r#"{"t":3,"s":"abc","n":2,"l":[3,1,2],"m":{"a":1,"b":2},"o":{"a":"x","a-b":"y"},"nul":null,
    "when":"2024-05-06T07:08:09Z","set":["a","b"],"any":"50%"}"#;

#[test]
fn values() {
    for (expression, value) in [
        ("self.t + 1 == 4 && self.n == 2.0", "true"),
        ("self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 3)", "true"),
        ("self.l.map(x, x * 2)", "[6,2,4]"),
        ("self.l.map(x, x > 1, x * 2)", "[6,4]"),
        ("self.l.filter(x, x > 1)", "[3,2]"),
        ("self.m.map(k, self.m[k])", "[1,2]"),
        ("self.m.all(k, v, k != '' && v > 0)", "true"),
        ("self.l.transformList(i, v, i + v)", "[3,2,4]"),
        ("self.m.transformMap(k, v, v > 1, v * 10)", r#"{"b":20}"#),
        ("{'x': 'y'}.transformMapEntry(k, v, {v: k})", r#"{"y":"x"}"#),
        ("has(self.nul) || has(self.o.b)", "undefined"),
        ("has(self.nul)", "false"),
        ("self.o.a__dash__b", "\"y\""),
        ("self.?nul.hasValue() || self.o.?a.orValue('') == 'z'", "false"),
        ("self.m[?'a'].optMap(v, v + 1).orValue(0)", "2"),
        ("[1, ?self.m[?'zz'], ?optional.of(2)]", "[1,2]"),
        ("{?'a': optional.none(), 'b': 1}", r#"{"b":1}"#),
        ("self.l[3]", "index out of bounds: 3"),
        ("self.m['zz']", "no such key: zz"),
        ("self.m.zz", "no such key: zz"),
        ("self.t / (self.t - 3)", "division by zero"),
        ("self.t % (self.t - 3)", "modulus by zero"),
        ("self.t + 9223372036854775807", "integer overflow"),
        ("int(self.s)", "type conversion error from 'string' to 'int'"),
        ("self.any.endsWith('%') && type(self.any) == string", "true"),
        ("self.any > 5", "no such overload"),
        ("self.set == ['b', 'a']", "true"),
        ("self.when.getFullYear() == 2024 && self.when.getHours('America/New_York') == 3", "true"),
        ("self.when.getHours('+05:30') == 12", "true"),
        ("self.when - timestamp('2024-05-06T07:00:00Z')", "\"489s\""),
        ("false && self.l[9] == 1 || true", "true"),
        ("self.l[9] == 1 || true", "true"),
        ("self.l[9] == 1 && true", "index out of bounds: 9"),
        ("self.l.sort() == [1, 2, 3] && self.l.sortBy(x, -x)[0] == 3", "true"),
        ("self.l.isSorted()", "false"),
        ("self.l.sum() + self.l.max() * self.l.min()", "9"),
        ("[[1], [2]].flatten()", "[1,2]"),
        ("'%s-%d-%.2f-%b-%x'.format([self.s, 5, 1.5, true, 255])", "\"abc-5-1.50-1-ff\""),
        ("self.s.find('[bc]+') + self.s.replace('a', 'z') + self.s.substring(1)", "\"bczbcbc\""),
        ("'a,b,c'.split(',', 2)", r#"["a","b,c"]"#),
        ("self.s.matches(self.s + '(')", "error parsing regexp: missing closing ): `abc(`"),
        ("quantity('1Gi').isGreaterThan(quantity('1M')) && isQuantity('1.5k')", "true"),
        ("semver('1.2.3').isLessThan(semver('1.10.0-rc.1'))", "true"),
        ("ip('fe80::1').isLinkLocalUnicast() && cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"),
        ("url('https://a.b:81/c%20d?k=v&k=w').getQuery()", r#"{"k":["v","w"]}"#),
        (
            "url(self.s)",
            "URL parse error during conversion from string: parse \"abc\": invalid URI for request",
        ),
        ("format.dns1123Label().validate('A').hasValue()", "true"),
        ("sets.contains([1, 2], [2]) && !sets.intersects([1], [2])", "true"),
        ("type(self.l) == list && type(1u) == uint && type(null) == null_type", "true"),
        ("dyn(1) == 1.0 && dyn('1') != dyn(1)", "true"),
        ("string(1e7) + string(0.5) + string(duration('90s'))", "\"1e+070.590s\""),
        ("lists.range(3).map(x, lists.range(x)).flatten()", "[0,0,1]"),
        ("'日本語'.size() == 3 && '日本語'.indexOf('語') == 2", "true"),
        ("isQuantity(dyn(1))", "no such overload: isQuantity(int)"),
    ] {
        if value != "undefined" {
            assert_eq!(evaluated(OBJECT, VALUE, expression), value, "{expression}");
        }
    }
}

#[test]
fn faults_of_texts() {
    let long = "ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', \
                'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self ==\n | .......^";
    for (expression, fault) in [
        ("self.zz == 1", "ERROR: <input>:1:5: undefined field 'zz'\n | self.zz == 1\n | ....^"),
        ("has(self.o.b)", "ERROR: <input>:1:4: undefined field 'b'\n | has(self.o.b)\n | ...^"),
        (
            "self.n + 1 > 0.0",
            "ERROR: <input>:1:8: found no matching overload for '_+_' applied to '(double, int)'\n | self.n + 1 > 0.0\n \
             | .......^",
        ),
        (
            "self.m[1] == 1",
            "ERROR: <input>:1:7: found no matching overload for '_[_]' applied to '(map(string, int), int)'\n | \
             self.m[1] == 1\n | ......^",
        ),
        (
            "thing == 1",
            "ERROR: <input>:1:1: undeclared reference to 'thing' (in container '')\n | thing == 1\n | ^",
        ),
        (
            "self.s in ['a', 1]",
            "ERROR: <input>:1:17: expected type 'string' but found 'int'\n | self.s in ['a', 1]\n | ................^",
        ),
        (
            "self.s.matches('a(')",
            "ERROR: <input>:1:16: invalid matches argument\n | self.s.matches('a(')\n | ...............^",
        ),
        (
            "duration('1x') > duration('1s')",
            "ERROR: <input>:1:10: invalid duration argument\n | duration('1x') > duration('1s')\n | .........^",
        ),
        (
            "self.l.all(1, true)",
            "ERROR: <input>:1:12: argument must be a simple name\n | self.l.all(1, true)\n | ...........^",
        ),
        (
            "self.l.all(x, x.y)",
            "ERROR: <input>:1:16: type 'int' does not support field selection\n | self.l.all(x, x.y)\n | ...............^",
        ),
        (
            "self.t.all(x, x)",
            "ERROR: <input>:1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)\n | self.t.all(x, x)\n | ....^",
        ),
        (
            "'日' == self.zz",
            "ERROR: <input>:1:12: undefined field 'zz'\n | '日' == self.zz\n | .．.........^",
        ),
        ("true &&\nself.zz", "ERROR: <input>:2:5: undefined field 'zz'\n | self.zz\n | ....^"),
        ("self ==", long),
        (
            "math.abs(1) == 1",
            "ERROR: <input>:1:1: undeclared reference to 'math' (in container '')\n | math.abs(1) == 1\n | ^\nERROR: <input>:1:9: undeclared reference to 'abs' (in container '')\n | math.abs(1) == 1\n | ........^",
        ),
    ] {
        assert_eq!(evaluated(OBJECT, VALUE, expression), fault, "{expression}");
    }
}

#[test]
fn costs() {
    let cost = |schema: &str, expression: &str| {
        let decl = Decl::of_schema(&json(schema), false, "self").expect("a declaration");
        Env::new().with_decl("self", &decl).compile(expression).expect("compiles").cost_max()
    };
    let strings = r#"{"type":"array","maxItems":50,"items":{"type":"string","maxLength":50}}"#;
    for (schema, expression, most) in [
        (r#"{"type":"integer"}"#, "true", 0),
        (r#"{"type":"integer"}"#, "self > 5", 2),
        (r#"{"type":"string","maxLength":10}"#, "self == 'abc'", 2),
        (r#"{"type":"string","maxLength":10}"#, "self.startsWith('abcdefghijk')", 3),
        (r#"{"type":"string","maxLength":10}"#, "self.matches('^[a-z]+$')", 11),
        (strings, "self.all(x, x == 'a')", 252),
        (strings, "self.size() == 2", 3),
        (r#"{"x-kubernetes-int-or-string":true}"#, "type(self) == int", 314_576),
    ] {
        assert_eq!(cost(schema, expression), most, "{expression}");
    }
    assert_eq!(cost(r#"{"type":"integer"}"#, r#""f is " + string(self)"#), 1_844_674_407_370_955_266);
}

#[test]
fn evaluations_are_bounded() {
    let list = format!("[{}]", vec!["1"; 1000].join(","));
    let all = "self.all(a, self.all(b, self.all(c, a == b && b == c)))";
    let schema = r#"{"type":"array","items":{"type":"integer"}}"#;
    assert_eq!(evaluated(schema, &list, all), "operation cancelled: actual cost limit exceeded");
}
