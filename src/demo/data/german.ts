import type { Phrases } from './phrases.ts'

export const german: Phrases = {
  offerings: [
    {
      ...{ category: 'dining', slug: 'fuenf-gaenge-menue', title: 'Fünf-Gänge-Menü', pounds: 68, by: 'people' },
      summary: 'Fünf Gänge aus der Region, frisch vom Markt & aus dem eigenen Garten.',
      includes: ['Fünf Gänge', 'Brot und Gewürzbutter', 'Ein Aperitif zur Begrüßung'],
    },
    {
      ...{ category: 'dining', slug: 'sonntagsbrunch', title: 'Sonntagsbrunch', pounds: 29.5, by: 'people' },
      summary: 'Süßes, Herzhaftes und Kaffee, so viel Sie mögen.',
      includes: ['Brunchbuffet von 10 bis 14 Uhr', 'Heißgetränke und Säfte'],
    },
    {
      ...{ category: 'dining', slug: 'kochkurs', title: 'Kochkurs „Möwe, Meer & Mehl“', pounds: 95 },
      summary: 'Ein Abend am Herd mit unserer Küchenchefin.',
      includes: ['Vier Stunden Kurs', 'Menü und Getränke', 'Schürze zum Behalten'],
    },
    {
      ...{ category: 'spa', slug: 'thermentag', title: 'Thermentag', pounds: 38, by: 'people' },
      summary: 'Ein ganzer Tag in Bädern, Dampf und Stille.',
      includes: ['Eintritt für den ganzen Tag', 'Leihbademantel', 'Kräutertee'],
    },
    {
      ...{ category: 'spa', slug: 'rueckenmassage', title: 'Rückenmassage mit Moor', pounds: 62 },
      summary: 'Warmes Moor und fünfzig Minuten für Ihren Rücken.',
      includes: ['50 Minuten', 'Ruheraum im Anschluss'],
    },
    {
      ...{ category: 'stay', slug: 'uebernachtung', title: 'Übernachtung mit Frühstück', pounds: 118, by: 'nights' },
      summary: 'Ein Doppelzimmer mit Blick ins Grüne und ein langes Frühstück.',
      includes: ['Doppelzimmer', 'Frühstück bis 11 Uhr', 'Später Check-out'],
    },
    {
      ...{ category: 'stay', slug: 'genussauszeit', title: 'Genussauszeit', pounds: 189, by: 'nights' },
      summary: 'Abendmenü, Zimmer, Frühstück: einmal nichts müssen.',
      includes: ['Drei-Gänge-Menü für zwei', 'Doppelzimmer', 'Frühstück'],
    },
  ],
  themes: {
    '': '*',
    winter: '* – Winterzauber',
    'mit-begleitung': '* mit Weinbegleitung',
    vegetarisch: '*, vegetarisch',
    klassisch: '* „Klassisch“',
  },
  cards: {
    wertgutschein: 'Wertgutschein',
    geburtstagsgutschein: 'Geburtstagsgutschein',
    weihnachtsgutschein: 'Weihnachtsgutschein',
  },
  cardSummary: 'Für alles, was das Haus zu bieten hat.',
  cardIncludes: ['Per E-Mail oder im Umschlag', 'In einem Mal oder nach und nach einlösbar'],
  people: ['für eine Person', 'für zwei', 'für vier'],
  nights: ['eine Nacht', 'zwei Nächte', 'drei Nächte'],
  terms: ['Bitte reservieren Sie vorab.', 'Keine Barauszahlung.', 'Nicht an Feiertagen einlösbar.'],
  redemption: ['Bitte bei der Ankunft vorzeigen.', 'Nennen Sie die Gutscheinnummer bei der Reservierung.'],
  categories: {
    ...{ cards: 'Wertgutscheine', dining: 'Essen & Trinken', spa: 'Wellness', stay: 'Übernachten' },
    season: 'Ideen der Saison',
  },
}
