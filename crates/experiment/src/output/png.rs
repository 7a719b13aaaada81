//! Figures as files, SVG and PNG.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::folder::{Folder, MAKE_ROOM};
use crate::{Error, Result};

/// Draws SVG with the fonts of the system.
struct Painter {
    options: Options<'static>,
}

impl Painter {
    /// `None` if the system has no font: a figure without its labels says nothing.
    fn new() -> Option<Self> {
        let mut options = Options::default();
        options.fontdb_mut().load_system_fonts();
        let font = ["DejaVu Sans", "Noto Sans", "Liberation Sans"].into_iter().find(|name| {
            options
                .fontdb
                .faces()
                .any(|face| face.families.iter().any(|(family, _)| family == name))
        });
        let other = || {
            let face = options.fontdb.faces().next()?;
            face.families.first().map(|(family, _)| family.clone())
        };
        let family = font.map(str::to_owned).or_else(other)?;
        options.fontdb_mut().set_sans_serif_family(family);
        Some(Self { options })
    }

    /// A PNG of the size that the SVG states.
    ///
    /// # Errors
    /// The SVG is not one, which is a defect of this program.
    fn png(&self, svg: &str) -> Result<Vec<u8>> {
        let wrong = |error: String| Error::Internal(format!("a figure cannot be drawn: {error}"));
        let tree = Tree::from_str(svg, &self.options).map_err(|error| wrong(error.to_string()))?;
        let size = tree.size().to_int_size();
        let mut image = Pixmap::new(size.width(), size.height())
            .ok_or_else(|| wrong("it has no size".into()))?;
        resvg::render(&tree, Transform::default(), &mut image.as_mut());
        image.encode_png().map_err(|error| wrong(error.to_string()))
    }
}

/// What a reader has to know where there is no font.
const NO_FONT: &str =
    "No font is installed, so figures are SVG only; install fonts-dejavu-core for PNG.";

/// Writes figures, which are SVG by name, into the folder `figures`, each as SVG and PNG. Returns
/// a note for the reader where there is no font for the PNG.
///
/// # Errors
/// A file cannot be written.
pub fn write_figures<'a>(
    folder: &Folder,
    figures: impl IntoIterator<Item = (&'a str, String)>,
) -> Result<Option<&'static str>> {
    let path = folder.file("figures");
    std::fs::create_dir_all(&path).map_err(|error| {
        Error::Machine(format!("cannot create {}: {error}; {MAKE_ROOM}", path.display()))
    })?;
    let painter = Painter::new();
    for (name, svg) in figures {
        folder.write(&format!("figures/{name}.svg"), svg.as_bytes())?;
        if let Some(painter) = &painter {
            folder.write(&format!("figures/{name}.png"), &painter.png(&svg)?)?;
        }
    }
    Ok(painter.is_none().then_some(NO_FONT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_report::{Bar, Chart, Group, Line, Palette, Part, StackedBars};

    #[test]
    fn a_figure_becomes_an_image_with_its_colours() {
        let Some(painter) = Painter::new() else { return };
        let lines = [Line { name: "off".into(), points: vec![(0.0, 1.0), (1.0, 2.0)] }];
        let svg = Chart { lines: &lines, x_ticks: &[1.0], ..Chart::default() }.svg();
        let png = painter.png(&Palette::of(&lines).file(&svg, "x")).unwrap();
        let image = Pixmap::decode_png(&png).unwrap();
        assert_eq!((image.width(), image.height()), (1120, 668));
        let line = |pixel: &resvg::tiny_skia::PremultipliedColorU8| {
            (pixel.red(), pixel.green(), pixel.blue()) == (0xc8, 0x50, 0x2b)
        };
        assert!(image.pixels().iter().any(line), "the line has the colour of its name");
        assert!(painter.png("<p>").is_err());
    }

    #[test]
    fn bars_have_the_colours_of_their_parts_and_stripes_between() {
        let Some(painter) = Painter::new() else { return };
        let parts = [Part { name: "idle".into(), colour: 6, striped: true }];
        let bars = vec![Bar { name: "1".into(), values: vec![5.0], ..Bar::default() }];
        let groups = [Group { name: "x".into(), bars }];
        let bars = StackedBars { parts: &parts, groups: &groups, ..StackedBars::default() };
        let file = Palette::of(&[]).file(&bars.svg(), "x");
        let image = Pixmap::decode_png(&painter.png(&file).unwrap()).unwrap();
        let count = |colour: (u8, u8, u8)| {
            let is = |it: &&resvg::tiny_skia::PremultipliedColorU8| {
                (it.red(), it.green(), it.blue()) == colour
            };
            image.pixels().iter().filter(is).count()
        };
        let grey = count((0x5b, 0x68, 0x75));
        // The bar is 92 pixels wide and 387 high, and stripes take a good part of it.
        assert!(grey > 92 * 100 && grey < 92 * 330, "{grey}");
    }
}
