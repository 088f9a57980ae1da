//! MathML as a line of text: an exponent or a denominator follows its base in the markup as if it were its next digit.

/// Elements of an open formula at most, each within the one before; deeper ones are read without their marks.
const DEPTH: usize = 1000;

/// The elements of the open formula, from the outside in.
#[derive(Debug, Default)]
pub(super) struct OpenFormula {
    elements: Vec<FormulaElement>,
    /// Elements beyond [`DEPTH`].
    deeper: usize,
}

#[derive(Debug)]
struct FormulaElement {
    /// What is written before its second, third .. child.
    marks: &'static [&'static str],
    children: usize,
}

impl OpenFormula {
    /// Whether a formula is open: white space between its elements means nothing.
    pub(super) fn is_open(&self) -> bool {
        !self.elements.is_empty()
    }

    /// Begins an element; gives what is written before it.
    pub(super) fn start(&mut self, name: &[u8]) -> &'static str {
        if !self.is_open() && name != b"math" {
            return "";
        }
        let mut mark = match name {
            b"msqrt" | b"mroot" => "√",
            _ => "",
        };
        if let Some(parent) = self.elements.last_mut() {
            let place = parent.children.checked_sub(1);
            mark = place
                .and_then(|place| parent.marks.get(place))
                .unwrap_or(&mark);
            parent.children += 1;
        }
        if self.elements.len() < DEPTH {
            self.elements.push(FormulaElement {
                marks: marks_of(name),
                children: 0,
            });
        } else {
            self.deeper += 1;
        }
        mark
    }

    /// Ends an element.
    pub(super) fn end(&mut self, name: &[u8]) {
        if name == b"math" {
            *self = Self::default();
        } else if self.deeper > 0 {
            self.deeper -= 1;
        } else if self.elements.len() > 1 {
            self.elements.pop();
        }
    }
}

fn marks_of(name: &[u8]) -> &'static [&'static str] {
    match name {
        b"mfrac" => &["/"],
        b"msup" | b"mover" => &["^"],
        b"msub" | b"munder" => &["_"],
        b"msubsup" | b"munderover" => &["_", "^"],
        _ => &[],
    }
}
