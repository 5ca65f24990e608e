//! Kinds are reverse-DNS names and match by whole labels (L10, D26).

use super::world::*;
use crate::capability::*;
use proptest::prelude::*;

#[test]
fn what_is_a_kind() {
    for good in ["a", "cortex.extract.tier1", "com.example.my-tool_2", &"x".repeat(128)] {
        assert_eq!(good.parse::<Kind>().unwrap().as_str(), good);
    }
    for bad in ["", ".", "a.", ".a", "a..b", "a b", "a.*", "é", "a/b", "a\0", &"x".repeat(129)] {
        assert!(bad.parse::<Kind>().is_err(), "{bad:?}");
    }
}

#[test]
fn a_prefix_reaches_itself_and_what_stands_below_it() {
    for (prefix, kind_, reaches) in [
        ("cortex.tool", "cortex.tool", true),
        ("cortex.tool", "cortex.tool.search", true),
        ("cortex", "cortex.tool.search", true),
        ("cortex.tool", "cortex.tools.search", false),
        ("cortex.tool", "cortex", false),
        ("cortex.tool", "cortex.tOol", false),
        ("tool", "cortex.tool", false),
    ] {
        assert_eq!(kind(prefix).reaches(&kind(kind_)), reaches, "{prefix} {kind_}");
    }
}

#[test]
fn d26_a_childs_prefix_starts_with_its_parents() {
    for (parent, child, fits) in [
        (None, None, true),
        (None, Some("cortex"), true),
        (Some("cortex"), None, false),
        (Some("cortex"), Some("cortex"), true),
        (Some("cortex"), Some("cortex.tool"), true),
        (Some("cortex.tool"), Some("cortex"), false),
        (Some("cortex.tool"), Some("cortex.tools"), false),
        (Some("cortex.tool"), Some("cortex.action"), false),
    ] {
        let caveats = |prefix: Option<&str>| Caveats { kind_prefix: prefix.map(kind), ..Caveats::default() };
        let narrows = caveats(child).narrows(&caveats(parent));
        assert_eq!(narrows, if fits { Ok(()) } else { Err(Exceeds::KindPrefix) }, "{parent:?} {child:?}");
    }
}

proptest! {
    #[test]
    fn reaching_is_an_order(a in "[ab](\\.[ab]){0,3}", b in "[ab](\\.[ab]){0,3}", c in "[ab](\\.[ab]){0,3}") {
        let (a, b, c) = (kind(&a), kind(&b), kind(&c));
        prop_assert!(a.reaches(&a));
        prop_assert!(!(a.reaches(&b) && b.reaches(&a)) || a == b);
        prop_assert!(!(a.reaches(&b) && b.reaches(&c)) || a.reaches(&c));
        prop_assert!(!a.reaches(&b) || a.labels() <= b.labels());
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = text.parse::<Kind>();
    }
}
