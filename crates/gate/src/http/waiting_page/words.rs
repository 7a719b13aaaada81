//! The words of the waiting room's pages, in each language.

use crate::http::accept::Language;
use std::time::Duration;
use tidegate_control::waiting_room::Estimate;

/// The words of one language. `{n}`, `{low}` and `{high}` stand for numbers.
pub struct Words {
    /// Title and heading of the page with a place.
    pub waiting: &'static str,
    /// What it is about.
    pub waiting_text: &'static str,
    /// Above the number of the place.
    pub place: &'static str,
    /// Above the estimate.
    pub wait: &'static str,
    /// An estimate in minutes.
    minutes: &'static str,
    /// Its range.
    range: &'static str,
    /// An estimate below a minute.
    soon: &'static str,
    /// Too few were admitted for an estimate.
    unknown: &'static str,
    /// That the page refreshes itself.
    pub stay: &'static str,
    /// Heading and text when the turn has come.
    pub turn: (&'static str, &'static str),
    /// The same before the opening.
    pub before: (&'static str, &'static str),
    /// The same when the service has closed the line.
    pub closed: (&'static str, &'static str),
    /// The same while the site is maintained.
    pub maintenance: (&'static str, &'static str),
}

const ENGLISH: Words = Words {
    waiting: "You are in line",
    waiting_text: "Many people want to visit this site at the moment. It lets in as many as it can \
                   serve well, in the order in which they came.",
    place: "Your place in the line",
    wait: "Estimated wait",
    minutes: "about {n} min",
    range: "probably {low} to {high} min",
    soon: "less than a minute",
    unknown: "not known yet",
    stay: "This page refreshes itself, and takes you to the site when it is your turn. Your place \
           is kept for five minutes if you leave.",
    turn: ("It is your turn", "You will be let in within moments."),
    before: (
        "The site opens soon",
        "All who are here before it opens have the same chance: their order is drawn by lot. There \
         is no need to be early.",
    ),
    closed: ("The line is closed", "Nobody new is let in at the moment. Thank you for your visit."),
    maintenance: (
        "We will be back soon",
        "The site is being maintained. This page takes you to it when that is done.",
    ),
};

const GERMAN: Words = Words {
    waiting: "Sie stehen in der Warteschlange",
    waiting_text: "Gerade möchten viele diese Seite besuchen. Sie lässt so viele ein, wie sie gut \
                   bedienen kann, in der Reihenfolge ihrer Ankunft.",
    place: "Ihr Platz in der Schlange",
    wait: "Geschätzte Wartezeit",
    minutes: "etwa {n} min",
    range: "wahrscheinlich {low} bis {high} min",
    soon: "weniger als eine Minute",
    unknown: "noch nicht bekannt",
    stay: "Diese Seite erneuert sich selbst und führt Sie weiter, sobald Sie an der Reihe sind. Ihr \
           Platz bleibt fünf Minuten erhalten, wenn Sie gehen.",
    turn: ("Sie sind an der Reihe", "Sie werden gleich eingelassen."),
    before: (
        "Die Seite öffnet bald",
        "Alle, die vor der Öffnung hier sind, haben die gleiche Chance: Die Reihenfolge wird \
         ausgelost. Früher zu kommen bringt nichts.",
    ),
    closed: (
        "Die Warteschlange ist geschlossen",
        "Zurzeit wird niemand mehr eingelassen. Danke für Ihren Besuch.",
    ),
    maintenance: (
        "Wir sind bald zurück",
        "Die Seite wird gerade gewartet. Danach führt diese Seite Sie weiter.",
    ),
};

const FRENCH: Words = Words {
    waiting: "Vous êtes dans la file d’attente",
    waiting_text: "Beaucoup de personnes veulent visiter ce site en ce moment. Il en laisse entrer \
                   autant qu’il peut bien servir, dans l’ordre d’arrivée.",
    place: "Votre place dans la file",
    wait: "Attente estimée",
    minutes: "environ {n} min",
    range: "probablement {low} à {high} min",
    soon: "moins d’une minute",
    unknown: "pas encore connue",
    stay: "Cette page s’actualise d’elle-même et vous mène au site quand c’est votre tour. Votre \
           place est gardée cinq minutes si vous partez.",
    turn: ("C’est votre tour", "Vous allez entrer dans un instant."),
    before: (
        "Le site ouvre bientôt",
        "Tous ceux qui sont là avant l’ouverture ont la même chance : l’ordre est tiré au sort. Il \
         est inutile de venir plus tôt.",
    ),
    closed: ("La file est fermée", "Personne n’entre plus pour le moment. Merci de votre visite."),
    maintenance: (
        "Nous revenons bientôt",
        "Le site est en maintenance. Cette page vous y mènera ensuite.",
    ),
};

const SPANISH: Words = Words {
    waiting: "Está en la cola",
    waiting_text: "Muchas personas quieren visitar este sitio en este momento. Deja entrar a tantas \
                   como puede atender bien, por orden de llegada.",
    place: "Su puesto en la cola",
    wait: "Espera estimada",
    minutes: "unos {n} min",
    range: "probablemente de {low} a {high} min",
    soon: "menos de un minuto",
    unknown: "aún no se conoce",
    stay: "Esta página se actualiza sola y le lleva al sitio cuando sea su turno. Si se va, su \
           puesto se guarda cinco minutos.",
    turn: ("Es su turno", "Entrará en un momento."),
    before: (
        "El sitio abre pronto",
        "Todos los que están aquí antes de la apertura tienen la misma oportunidad: el orden se \
         sortea. No hace falta llegar antes.",
    ),
    closed: ("La cola está cerrada", "De momento no entra nadie más. Gracias por su visita."),
    maintenance: (
        "Volvemos pronto",
        "El sitio está en mantenimiento. Después, esta página le llevará a él.",
    ),
};

impl Words {
    /// Those of a language.
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::German => &GERMAN,
            Language::French => &FRENCH,
            Language::Spanish => &SPANISH,
        }
    }

    /// An estimate in words, and its range if it has one.
    pub fn estimate(&self, estimate: Option<Estimate>) -> (String, String) {
        let Some(Estimate { low, wait, high }) = estimate else {
            return (self.unknown.to_owned(), String::new());
        };
        if high < Duration::from_secs(60) {
            return (self.soon.to_owned(), String::new());
        }
        let most = minutes(wait.max(Duration::from_secs(30))).max(1);
        let (low, high) = (low.as_secs() / 60, high.as_secs().div_ceil(60));
        let range = self.range.replace("{low}", &low.to_string());
        let range = range.replace("{high}", &high.max(most).to_string());
        (self.minutes.replace("{n}", &most.to_string()), range)
    }
}

/// Whole minutes, rounded.
fn minutes(time: Duration) -> u64 {
    (time.as_secs() + 30) / 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_said_in_minutes_with_its_range() {
        let estimate = |low, wait, high| {
            let [low, wait, high] = [low, wait, high].map(Duration::from_secs);
            ENGLISH.estimate(Some(Estimate { low, wait, high }))
        };
        let range = "probably 3 to 6 min".to_owned();
        assert_eq!(estimate(190, 260, 330), ("about 4 min".to_owned(), range));
        assert_eq!(estimate(5, 20, 50).0, "less than a minute");
        let range = "probably 0 to 2 min".to_owned();
        assert_eq!(estimate(5, 20, 90), ("about 1 min".to_owned(), range));
        assert_eq!(ENGLISH.estimate(None), ("not known yet".to_owned(), String::new()));
    }

    #[test]
    fn no_language_lacks_a_number() {
        let seconds = Duration::from_secs;
        let estimate = Estimate { low: seconds(420), wait: seconds(780), high: seconds(1140) };
        for language in Language::ALL {
            let (wait, range) = Words::of(language).estimate(Some(estimate));
            assert!(wait.contains("13") && range.contains('7') && range.contains("19"), "{range}");
        }
    }
}
