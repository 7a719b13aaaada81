//! Names of synthetic people.

/// First names.
pub const FIRST_NAMES: [&str; 40] = [
    "Ada", "Amir", "Anna", "Bela", "Bruno", "Carla", "Chen", "Clara", "Dana", "David", "Elena",
    "Emil", "Femi", "Fiona", "Grace", "Hana", "Hugo", "Ines", "Ivan", "Jonas", "Kai", "Lena",
    "Leo", "Lucia", "Maya", "Milan", "Nadia", "Niko", "Nora", "Omar", "Otto", "Paula", "Pia",
    "Rosa", "Sami", "Sofia", "Theo", "Uma", "Vera", "Yuki",
];

/// Last names.
pub const LAST_NAMES: [&str; 40] = [
    "Adler", "Andersen", "Bauer", "Becker", "Bianchi", "Brandt", "Castro", "Cohen", "Costa",
    "Dupont", "Eriksen", "Evans", "Ferrari", "Fischer", "Garcia", "Haas", "Ito", "Jansen",
    "Keller", "Kim", "Kovacs", "Lang", "Larsen", "Lopez", "Martin", "Meyer", "Moreau", "Murphy",
    "Nagy", "Novak", "Olsen", "Okafor", "Petrov", "Rossi", "Sato", "Silva", "Tanaka", "Visser",
    "Walker", "Wolf",
];
