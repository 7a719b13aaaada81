//! What the shop sells: departments and the things in them, of which sets and products are made.

/// A department.
#[derive(Clone, Copy, Debug)]
pub struct Department {
    /// Its name in addresses.
    pub slug: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it has, in a sentence.
    pub about: &'static str,
    /// Its glyph, lines in a box of 64 by 64.
    pub glyph: &'static str,
    /// What it sells: 16 names whose plural ends in s.
    things: &'static str,
}

impl Department {
    /// The thing of which a set of this number consists, counted from 0.
    pub fn thing(&self, set: usize) -> &'static str {
        self.things.split(", ").nth(set % THINGS).expect("there are so many")
    }
}

/// Things of a department.
const THINGS: usize = 16;

/// What stands before the name of a set after the first 16 of a department.
pub const KINDS: [&str; 5] = ["", "Compact ", "Classic ", "Outdoor ", "Studio "];

/// What a product is made of or like.
pub const QUALITIES: [&str; 24] = [
    "Oak",
    "Walnut",
    "Linen",
    "Copper",
    "Slate",
    "Ceramic",
    "Cotton",
    "Steel",
    "Bamboo",
    "Brass",
    "Canvas",
    "Cork",
    "Felt",
    "Granite",
    "Leather",
    "Maple",
    "Matte",
    "Nordic",
    "Olive",
    "Pine",
    "Robust",
    "Silent",
    "Terracotta",
    "Woven",
];

/// Sentences of descriptions; `{}` stands for the thing.
pub const SENTENCES: [&str; 12] = [
    "This {} was made to be used every day, and looks better for it.",
    "Its surface is easy to clean with water and a soft cloth.",
    "We have had this {} in our own homes for a year before we put it on the shelf.",
    "It comes in a box without plastic, with instructions of one page.",
    "Spare parts can be had for ten years.",
    "The maker is a family business of nine people.",
    "It weighs less than it looks, and stands firmly.",
    "Colours differ a little from piece to piece, as they do by hand.",
    "People who own one often come back for a second {}.",
    "It fits into the smallest rooms.",
    "All edges are rounded, so that nobody gets hurt.",
    "It may be left outside from spring to autumn.",
];

/// What customers say of a product.
pub const REMARKS: [&str; 10] = [
    "Does what it should, and looks good.",
    "Better than I had expected for the price.",
    "Arrived quickly and well packed.",
    "A present for my mother; she loves it.",
    "A little smaller than I thought, but solid.",
    "The colour is not quite that of the picture.",
    "I use it every day.",
    "After half a year still as new.",
    "The second one that I have bought.",
    "Easy to set up, even for me.",
];

/// The departments; their ids count from 1.
pub const DEPARTMENTS: [Department; 10] = [
    Department {
        slug: "garden",
        name: "Garden",
        about: "Tools, pots and lights for beds, balconies and lawns.",
        glyph: "M32 54V26M32 34c-12 0-18-6-18-16c12 0 18 6 18 16zM32 28c0-10 6-16 18-16c0 12-6 18-18 16zM14 54h36",
        things: "rake, spade, watering can, plant pot, garden hose, pruner, garden lantern, \
                 bird feeder, wheelbarrow, garden chair, seed tray, hedge trimmer, compost bin, \
                 rain barrel, garden glove, plant stand",
    },
    Department {
        slug: "kitchen",
        name: "Kitchen",
        about: "What you cook, bake and eat with.",
        glyph: "M12 26h40v14a14 14 0 0 1-14 14H26a14 14 0 0 1-14-14zM8 26h48M24 18c0-4 4-4 4-8M36 18c0-4 4-4 4-8",
        things: "saucepan, frying pan, chopping board, bread bin, teapot, mixing bowl, \
                 pepper mill, salad spinner, kitchen scale, baking tray, coffee grinder, \
                 colander, casserole, milk jug, spice jar, cake tin",
    },
    Department {
        slug: "living",
        name: "Living",
        about: "Furniture and light for rooms that people like to be in.",
        glyph: "M14 30v-8a6 6 0 0 1 6-6h24a6 6 0 0 1 6 6v8M8 32h8v10h32V32h8v18H8zM14 50v5M50 50v5",
        things: "floor lamp, armchair, side table, bookcase, cushion, wall clock, coat rack, \
                 candle holder, vase, rug, footstool, mirror, magazine rack, picture frame, \
                 blanket, sideboard",
    },
    Department {
        slug: "tools",
        name: "Tools",
        about: "For those who mend and build things themselves.",
        glyph: "M40 12a12 12 0 0 0-11 17L12 46l6 6 17-17a12 12 0 0 0 16-15l-7 7-6-2-2-6 7-7z",
        things: "hammer, screwdriver, spirit level, cordless drill, hand saw, tape measure, \
                 tool chest, spanner, wood plane, clamp, chisel, sawhorse, step ladder, \
                 glue gun, work lamp, file",
    },
    Department {
        slug: "office",
        name: "Office",
        about: "Paper, pens and what keeps a desk in order.",
        glyph: "M16 8h24l10 10v38H16zM40 8v10h10M23 30h20M23 38h20M23 46h12",
        things: "notebook, fountain pen, desk organiser, paper tray, desk lamp, ring binder, \
                 stapler, pen holder, wall calendar, pencil case, letter opener, desk mat, \
                 paper bin, whiteboard, clipboard, calculator",
    },
    Department {
        slug: "toys",
        name: "Toys",
        about: "Games and toys that last longer than a childhood.",
        glyph: "M8 34h20v20H8zM36 34h20v20H36zM22 10h20v20H22zM15 44h6M46 40v8M29 23l3-7 3 7z",
        things: "wooden train, jigsaw puzzle, board game, kite, building set, spinning top, \
                 doll house, toy kitchen, rocking horse, marble run, hand puppet, scooter, \
                 paint set, card game, music player, toy tractor",
    },
    Department {
        slug: "sports",
        name: "Sports",
        about: "For the park, the hall, the water and the mountain.",
        glyph: "M32 10a22 22 0 1 0 .1 0zM10 32h44M32 10v44M17 17c8 8 8 22 0 30M47 17c-8 8-8 22 0 30",
        things: "football, tennis racket, yoga mat, skipping rope, dumbbell, water bottle, \
                 cycle helmet, rowing glove, climbing rope, swimming cap, basketball, \
                 table tennis bat, sports bag, stopwatch, hiking pole, skateboard",
    },
    Department {
        slug: "travel",
        name: "Travel",
        about: "Bags and small helpers for a weekend or a year.",
        glyph: "M10 22h44v30H10zM24 22v-8h16v8M20 22v30M44 22v30",
        things: "suitcase, rucksack, wash bag, travel pillow, luggage tag, money belt, \
                 passport cover, travel adapter, packing cube, tent, sleeping bag, \
                 camping stove, headlamp, picnic basket, cool bag, hammock",
    },
    Department {
        slug: "bath",
        name: "Bath",
        about: "Towels, soap and calm.",
        glyph: "M8 32h48v6a14 14 0 0 1-14 14H22A14 14 0 0 1 8 38zM14 32V16a6 6 0 0 1 12 0M20 52l-3 5M44 52l3 5",
        things: "bath towel, soap tray, bath mat, shower curtain, laundry basket, comb, \
                 toothbrush holder, bathrobe, hand mirror, sponge, bath tray, towel rail, \
                 cosmetic bag, soap dispenser, bathroom stool, tissue box cover",
    },
    Department {
        slug: "pets",
        name: "Pets",
        about: "For dogs, cats and those who live with them.",
        glyph: "M32 30c-8 0-15 8-15 16s8 8 15 6c7 2 15 2 15-6s-7-16-15-16zM19 18a5 7 0 1 0 .1 0zM45 18a5 7 0 1 0 .1 0zM27 10a4 6 0 1 0 .1 0zM37 10a4 6 0 1 0 .1 0z",
        things: "dog lead, dog bed, cat tree, feeding bowl, pet blanket, dog collar, \
                 scratching post, pet carrier, chew toy, water fountain, dog coat, cat tunnel, \
                 dog comb, aquarium, bird cage, pet gate",
    },
];

/// Glyphs of the departments, in their order.
pub const GLYPHS: [&str; DEPARTMENTS.len()] = {
    let mut glyphs = [""; DEPARTMENTS.len()];
    let mut at = 0;
    while at < glyphs.len() {
        glyphs[at] = DEPARTMENTS[at].glyph;
        at += 1;
    }
    glyphs
};

/// Name of the set of this number in a department, counted from 0, such as "Compact rakes".
pub fn set_name(department: &Department, number: usize) -> String {
    let (kind, thing) = (KINDS[number / THINGS % KINDS.len()], department.thing(number));
    let name = format!("{kind}{thing}s");
    capital(&name)
}

/// A name as addresses have it: "compact-rakes".
pub fn slug(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

/// The same with a capital letter.
pub fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_sets_have_one_address() {
        let sets = DEPARTMENTS.iter().flat_map(|department| {
            (0..THINGS * KINDS.len()).map(|number| slug(&set_name(department, number)))
        });
        let sets: Vec<String> = sets.collect();
        assert_eq!(sets.iter().collect::<HashSet<_>>().len(), 800);
        assert!(DEPARTMENTS.iter().all(|it| it.things.split(", ").count() == THINGS));
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(sets.iter().all(|slug| slug.chars().all(plain)), "{sets:?}");
        assert_eq!(sets[0], "rakes");
        assert_eq!(set_name(&DEPARTMENTS[0], 16), "Compact rakes");
    }
}
