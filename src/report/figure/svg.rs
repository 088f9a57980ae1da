//! A figure as SVG.

use super::palette::Palette;
use super::{Align, Figure, Label, Paint, Shape};

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
    match shape {
        Shape::Line(line) => {
            let [[x1, y1], [x2, y2]] = [line.from, line.to].map(|point| point.map(short));
            let color = palette.hex(line.ink);
            let width = short(line.width);
            format!(
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#{color}\" stroke-width=\"{width}\"/>"
            )
        }
        Shape::Rectangle(corner, size, paint) => {
            let [[x, y], [width, height]] = [corner, size].map(|pair| pair.map(short));
            let colors = colors(paint, palette);
            format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {colors}/>")
        }
        Shape::Circle(center, radius, paint) => {
            let [x, y] = center.map(short);
            let colors = colors(paint, palette);
            format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" {colors}/>",
                short(*radius)
            )
        }
        Shape::Text(label) => text(label, palette),
    }
}

fn colors(paint: &Paint, palette: &Palette) -> String {
    let [fill, edge] = [paint.fill, paint.edge].map(|ink| palette.hex(ink));
    format!("fill=\"#{fill}\" stroke=\"#{edge}\"")
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
