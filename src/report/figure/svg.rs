//! A figure as SVG.

use super::palette::{Ink, Palette};
use super::{Align, Figure, Label, Shape};

impl Figure {
    /// The figure as a file of SVG.
    pub fn svg(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" font-family=\"Helvetica, Arial, Liberation Sans, sans-serif\" font-size=\"{}\">\n<title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n",
            short(self.font),
            escaped(&self.description),
            width = short(self.width),
            height = short(self.height),
        );
        for shape in &self.shapes {
            out += &element(shape, &self.palette);
            out.push('\n');
        }
        out + "</svg>\n"
    }
}

fn element(shape: &Shape, palette: &Palette) -> String {
    let color = |ink: Ink| palette.hex(ink);
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
            color(*ink),
            short(*width),
        ),
        Shape::Rectangle {
            corner,
            size,
            fill,
            edge,
        } => format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#{}\" stroke=\"#{}\"/>",
            short(corner[0]),
            short(corner[1]),
            short(size[0]),
            short(size[1]),
            color(*fill),
            color(*edge),
        ),
        Shape::Circle {
            center,
            radius,
            fill,
            edge,
        } => format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"#{}\" stroke=\"#{}\"/>",
            short(center[0]),
            short(center[1]),
            short(*radius),
            color(*fill),
            color(*edge),
        ),
        Shape::Text(label) => text(label, palette),
    }
}

fn text(label: &Label, palette: &Palette) -> String {
    let anchor = match label.align {
        Align::Start => "start",
        Align::Middle => "middle",
        Align::End => "end",
    };
    let [x, y] = label.at.map(short);
    let mut more = String::new();
    if label.is_bold {
        more += " font-weight=\"bold\"";
    }
    if label.is_upright {
        more += &format!(" transform=\"rotate(-90 {x} {y})\"");
    }
    format!(
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"#{}\"{more}>{}</text>",
        palette.hex(label.ink),
        escaped(&label.text),
    )
}

/// A number with at most two digits, finer than a printer.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
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
