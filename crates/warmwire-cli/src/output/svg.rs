//! A small writer of SVG. Colours come from the page's CSS classes, so that plots follow its
//! scheme.

use std::fmt::{Display, Write};

/// A drawing under construction.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text stands relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// An empty drawing of that size in its own units; the page scales it to its width.
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.push(format_args!(
            r#"<line class="{class}" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    /// A rectangle that tells `title` when it is pointed at.
    pub(super) fn bar(
        &mut self,
        class: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        title: &str,
    ) {
        let title = format!("<title>{}</title>", escape(title));
        let corner = format!(r#"x="{x:.1}" y="{y:.1}""#);
        self.push(format_args!(
            r#"<rect class="{class}" {corner} width="{width:.1}" height="{height:.1}" rx="2">{title}</rect>"#
        ));
    }

    /// Straight lines from point to point.
    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut list = String::new();
        for (x, y) in points {
            let _ = write!(list, "{x:.1},{y:.1} ");
        }
        self.push(format_args!(r#"<polyline class="{class}" points="{}"/>"#, list.trim_end()));
    }

    /// A dot that tells `title` when it is pointed at.
    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64), title: &str) {
        let title = format!("<title>{}</title>", escape(title));
        self.push(format_args!(
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="4">{title}</circle>"#
        ));
    }

    /// A text whose baseline begins, is centred or ends at a point.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.push(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// The element, `description` being what a screen reader says.
    pub(super) fn finish(self, description: &str) -> String {
        format!(
            r#"<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>"#,
            self.width,
            self.height,
            escape(description),
            self.body
        )
    }

    fn push(&mut self, element: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// `text` with what HTML would read as markup written as entities.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Round numbers that divide 0 to `most` into about `parts`: 1, 2 or 5 times a power of ten.
pub(super) fn ticks(most: f64, parts: f64) -> Vec<f64> {
    if most <= 0.0 || !most.is_finite() {
        return vec![0.0];
    }
    let rough = most / parts;
    let unit = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * unit)
        .find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(unit * 10.0);
    (0..=(most / step).ceil() as u32).map(|i| f64::from(i) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text("label", (1.0, 2.0), Anchor::End, "</text><script>");
        let element = svg.finish("a \"plot\"");
        assert!(
            element.contains("&lt;/text&gt;&lt;script&gt;") && !element.contains("<script"),
            "{element}"
        );
        assert!(element.contains("aria-label=\"a &quot;plot&quot;\""), "{element}");
    }

    #[test]
    fn ticks_are_round_and_cover_everything() {
        assert_eq!(ticks(87.0, 4.0), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(100.0, 5.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(0.0, 5.0), [0.0]);
        assert!(ticks(0.37, 4.0).last().is_some_and(|last| *last >= 0.37));
    }
}
