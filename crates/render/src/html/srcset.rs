//! The URLs of a `srcset`.
//!
//! Source: HTML Standard, section 4.8.4.2.2, "Parsing a srcset attribute".

use std::ops::Range;

/// Where the URLs of the candidates stand.
pub fn urls(value: &str) -> Vec<Range<usize>> {
    let bytes = value.as_bytes();
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    let mut places = Vec::new();
    let mut at = 0;
    loop {
        let skipped = bytes[at..].iter().position(|byte| !is_space(byte) && *byte != b',');
        let Some(start) = skipped.map(|it| at + it) else { return places };
        let length = bytes[start..].iter().position(is_space).unwrap_or(bytes.len() - start);
        at = start + length;
        let url = value[start..at].trim_end_matches(',');
        places.push(start..start + url.len());
        if start + url.len() < at {
            continue;
        }
        // Descriptors, up to a comma outside of parentheses.
        let mut depth = 0_u32;
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => break,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_have_descriptors_and_urls_have_commas() {
        let of = |value: &'static str| -> Vec<&str> {
            urls(value).into_iter().map(|place| &value[place]).collect()
        };
        assert_eq!(of("a.png 1x, b.png 2x"), ["a.png", "b.png"]);
        assert_eq!(
            of(" ,a,b.png 100w 50h,c.png,\n d.png (x, y) 2x,e"),
            ["a,b.png", "c.png", "d.png", "e"]
        );
        assert_eq!(of("data:,a 1x"), ["data:,a"]);
        assert_eq!(of(" , "), [""; 0]);
    }
}
