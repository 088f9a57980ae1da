//! JSON parsing compared with Python (by hand) and serde_json (at random).

use super::*;
use proptest::prelude::*;

fn int(digits: &str) -> Value {
    Value::Int(digits.to_owned())
}

#[test]
fn bare_words_of_python_are_numbers() {
    assert!(matches!(parse("NaN"), Ok(Value::Float(x)) if x.is_nan()));
    assert_eq!(parse(" Infinity "), Ok(Value::Float(f64::INFINITY)));
    assert_eq!(parse("-Infinity"), Ok(Value::Float(f64::NEG_INFINITY)));
    assert_eq!(parse("1e999"), Ok(Value::Float(f64::INFINITY)));
    assert!(parse("-NaN").is_err() && parse("nan").is_err() && parse("+1").is_err());
}

#[test]
fn integers_keep_their_digits_and_their_type() {
    let huge = "9".repeat(MAX_INT_DIGITS);
    assert_eq!(parse(&huge), Ok(int(&huge)));
    assert_eq!(parse(&format!("{huge}9")), Err(Fault::TooManyDigits));
    assert_eq!(parse("-0"), Ok(int("0")));
    assert_eq!(parse("7.0"), Ok(Value::Float(7.0)));
    assert_eq!(parse("7e0"), Ok(Value::Float(7.0)));
}

#[test]
fn what_python_refuses_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "{\"a\":1,}",
        "{,}",
        "007",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "'a'",
        "{'a':1}",
        "\"a\nb\"",
        "\"\u{1f}\"",
        "\"\\x41\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\ud800\\u12\"",
        "\"a",
        "\"a\\",
        "tru",
        "nul",
        "[1 2]",
        "{\"a\" 1}",
        "{\"a\":}",
        "{1:2}",
        "1 2",
        "\u{feff}1",
        "\u{a0}1",
        "[1]]",
        "1\u{0}",
    ] {
        assert!(matches!(parse(text), Err(Fault::Decode(_))), "{text:?} gave {:?}", parse(text));
    }
}

#[test]
fn of_equal_keys_the_last_value_wins_at_the_first_place() {
    let value = parse("{\"a\": 1, \"b\": 2, \"a\": 3}").unwrap();
    assert_eq!(value, Value::Dict(vec![("a".into(), int("3")), ("b".into(), int("2"))]));
    assert_eq!(value.get("a"), Some(&int("3")));
}

#[test]
fn lone_surrogates_are_text_and_pairs_are_joined() {
    assert_eq!(parse("\"\\ud83d\\ude00\""), Ok(Value::Str("\u{1f600}".into())));
    assert_eq!(parse("\"\\ud800\""), Ok(Value::Str("\u{fffd}".into())));
    assert_eq!(parse("\"\\ud800\\u0041\\udc00\""), Ok(Value::Str("\u{fffd}A\u{fffd}".into())));
}

#[test]
fn nesting_beyond_the_limit_is_an_error_and_no_overflow() {
    let at_limit = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
    assert!(parse(&at_limit).is_ok());
    assert_eq!(parse(&"[".repeat(1_000_000)), Err(Fault::TooDeep));
}

#[test]
fn truth_is_pythons() {
    for (text, truth) in [
        ("null", false),
        ("false", false),
        ("true", true),
        ("0", false),
        ("-0.0", false),
        ("-1", true),
        ("NaN", true),
        ("\"\"", false),
        ("\" \"", true),
        ("[]", false),
        ("[0]", true),
        ("{}", false),
    ] {
        assert_eq!(parse(text).unwrap().is_truthy(), truth, "{text}");
    }
}

fn same(ours: &Value, theirs: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (ours, theirs) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(a), Json::Bool(b)) => a == b,
        (Value::Int(a), Json::Number(b)) => a.parse::<f64>().ok() == b.as_f64(),
        (Value::Float(a), Json::Number(b)) => Some(*a) == b.as_f64(),
        (Value::Str(a), Json::String(b)) => a == b,
        (Value::List(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Dict(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((ka, a), (kb, b))| ka == kb && same(a, b))
        }
        _ => false,
    }
}

fn json_like() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"score\"",
        "1",
        "0",
        "-",
        "7.5",
        "e3",
        ".",
        " ",
        "\n",
        "null",
        "true",
        "NaN",
        "\\u00e9",
        "\\ud800",
        "\\\"",
        "\u{e9}",
        "{\"a\":1}",
        "[1]",
        "123456789012345678901",
    ]);
    prop::collection::vec(bits, 0..12).prop_map(|bits| bits.concat())
}

proptest! {
    #[test]
    fn whatever_serde_json_accepts_reads_the_same(text in json_like()) {
        if let Ok(theirs) = serde_json::from_str::<serde_json::Value>(&text) {
            let ours = parse(&text);
            prop_assert!(ours.as_ref().is_ok_and(|ours| same(ours, &theirs)), "{text:?}: {ours:?} and {theirs:?}");
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,200}", bits in json_like()) {
        let _ = parse(&text);
        let _ = parse(&bits);
    }
}
