//! A figure as SVG.

use super::{Align, Figure, Ink, Shape};

impl Figure {
    /// The figure as a file of SVG.
    pub fn svg(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{}\">\n<title>{}</title>\n",
            short(self.font),
            escaped(&self.description),
            width = short(self.width),
            height = short(self.height),
        );
        for shape in &self.shapes {
            out += &element(shape);
            out.push('\n');
        }
        out + "</svg>\n"
    }
}

fn element(shape: &Shape) -> String {
    match shape {
        Shape::Line {
            from,
            to,
            ink,
            width,
        } => format!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#{}\" stroke-width=\"{}\"/>",
            short(from[0]),
            short(from[1]),
            short(to[0]),
            short(to[1]),
            ink.hex(),
            short(*width),
        ),
        Shape::Circle {
            center,
            radius,
            ink,
            is_hollow,
        } => {
            let fill = if *is_hollow { "FFFFFF" } else { ink.hex() };
            format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"#{fill}\" stroke=\"#{}\"/>",
                short(center[0]),
                short(center[1]),
                short(*radius),
                ink.hex(),
            )
        }
        Shape::Text { at, align, text } => {
            let anchor = match align {
                Align::Start => "start",
                Align::Middle => "middle",
                Align::End => "end",
            };
            format!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"#{}\">{}</text>",
                short(at[0]),
                short(at[1]),
                Ink::TEXT,
                escaped(text),
            )
        }
    }
}

impl Ink {
    /// The color of texts.
    const TEXT: &'static str = "222222";
}

/// A number with at most two digits, finer than a printer.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The text as content of XML, which has no other characters that could end it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_numbers_are_short() {
        let figure = Figure::of_text("<b> & ]]>", "<script>");
        let svg = figure.svg();
        assert!(svg.contains("viewBox=\"0 0 100 33.33\""), "{svg}");
        assert!(
            svg.contains("&lt;b&gt; &amp; ]]&gt;") && !svg.contains("<script>"),
            "{svg}"
        );
        assert!(svg.contains("x=\"1\" y=\"2.5\""), "{svg}");
    }
}
