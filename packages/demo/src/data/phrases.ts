/** The texts of the demo catalogue, in each language. */
const experienceCategories = ['dining', 'spa', 'stay'] as const

/** The slugs of the categories of experiences. */
export type ExperienceCategory = (typeof experienceCategories)[number]

const variantKinds = ['people', 'nights'] as const

/** An experience that a venue sells. */
export interface Offering {
  category: ExperienceCategory
  slug: string
  title: string
  summary: string
  includes: readonly string[]
  /** The price for one person or one night, in pounds. */
  pounds: number
  /** The property in which the variants differ; undefined for an experience without variants. */
  by: (typeof variantKinds)[number] | undefined
}

/** The texts of a catalogue in one language. The titles of themes and of gift cards have their slugs as keys. */
interface Phrases {
  offerings: readonly Offering[]
  /** In a description, `*` stands for the title of the offering. */
  themes: Readonly<Record<string, string>>
  cards: Readonly<Record<string, string>>
  cardSummary: string
  cardIncludes: readonly string[]
  people: readonly string[]
  nights: readonly string[]
  terms: readonly string[]
  redemption: readonly string[]
  categories: Record<'cards' | ExperienceCategory | 'season', string>
}

/**
 * Splits a table of texts into rows and cells.
 *
 * @param table one row per line, with bars between the cells; a line that begins with a bar continues the row above
 */
const rowsOf = (table: string): string[][] =>
  table
    .trim()
    .split(/\n(?! *\|)/)
    .map(row => row.split('|').map(cell => cell.trim()))

/**
 * Parses a table of offerings. Its columns are: category, slug, title, price with the property of the variants,
 * summary, list of inclusions.
 */
const readOfferings = (table: string): Offering[] =>
  rowsOf(table).map(([category, slug = '', title = '', price = '', summary = '', includes = '']) => {
    const [pounds, by] = price.split(' ')
    return {
      category: experienceCategories.find(name => name === category)!,
      ...{ slug, title, summary, includes: includes.split('; ') },
      pounds: Number(pounds),
      by: variantKinds.find(name => name === by),
    }
  })

const english: Phrases = {
  offerings: readOfferings(`
    dining | afternoon-tea | Afternoon Tea | 32 people
      | Finger sandwiches, warm scones and a stand of small cakes, served from two until five.
      | A pot of loose-leaf tea each; Scones with clotted cream & preserves; A seat by the window on request
    dining | tasting-menu | Seven-Course Tasting Menu | 85 people
      | Seven small courses that follow the season, with the kitchen in full view.
      | Seven courses; Bread & cultured butter; A printed menu to take home
    dining | sunday-roast | Sunday Roast | 28.5 people
      | The roast of the day with everything that belongs to it.
      | Choice of two roasts or a nut Wellington; Pudding of the day
    dining | cocktail-class | Bartender's Masterclass | 42
      | Ninety minutes behind the bar: shake, stir and taste three cocktails.
      | Three cocktails; A small plate to share; Recipe cards
    dining | chefs-table | Chef's Table Supper | 135
      | One table in the kitchen, eight seats, no menu.
      | Ten or so courses; Wines to match; A word with the chef
    spa | spa-day | Spa Day with Lunch | 115 people
      | A whole day of pools, steam and quiet, with lunch in your robe.
      | Use of all pools & saunas from 9 to 6; A 50-minute treatment; Two-course lunch
    spa | hot-stone-massage | Hot Stone Massage | 78
      | Seventy-five minutes with warm basalt, for shoulders that have had enough.
      | 75 minutes; Herbal tea afterwards
    spa | twilight-spa | Twilight Spa | 49.5 people
      | The spa after dark: candles, salt and a glass of something cold.
      | Entry from 6 to 9; A glass of sparkling wine
    stay | bed-and-breakfast | Stay with Breakfast | 145 nights
      | A double room with a view, and breakfast until eleven.
      | Double room for two; Full breakfast; Late check-out at noon
    stay | dinner-and-stay | Dinner, Bed & Breakfast | 210 nights
      | Three courses, a good bed and nothing to do in the morning.
      | Three-course dinner for two; Double room; Breakfast
  `),
  themes: {
    '': '*',
    midweek: 'Midweek *',
    celebration: '* with Champagne',
    winter: 'Winter *',
    vegetarian: '*: the Green Edition',
    classic: 'Classic *',
  },
  cards: {
    'gift-card': 'Gift Card',
    'birthday-gift-card': 'Birthday Gift Card',
    'christmas-gift-card': 'Christmas Gift Card',
    'thank-you-gift-card': 'Thank-You Gift Card',
  },
  cardSummary: 'Let them choose: to be spent on anything we do.',
  cardIncludes: ['Sent by e-mail, or posted in an envelope', 'Spend it at once or bit by bit'],
  people: ['for one', 'for two', 'for four'],
  nights: ['one night', 'two nights', 'three nights'],
  terms: ['Please book ahead.', 'Not valid on bank holidays & in the week before Christmas.', 'Non-refundable.'],
  redemption: ['Show this voucher when you arrive.', "Quote the reference when you book; we'll do the rest."],
  categories: { cards: 'Gift Cards', dining: 'Food & Drink', spa: 'Spa', stay: 'Stays', season: "This Season's Ideas" },
}

const german: Phrases = {
  offerings: readOfferings(`
    dining | fuenf-gaenge-menue | Fünf-Gänge-Menü | 68 people
      | Fünf Gänge aus der Region, frisch vom Markt & aus dem eigenen Garten.
      | Fünf Gänge; Brot und Gewürzbutter; Ein Aperitif zur Begrüßung
    dining | sonntagsbrunch | Sonntagsbrunch | 29.5 people
      | Süßes, Herzhaftes und Kaffee, so viel Sie mögen.
      | Brunchbuffet von 10 bis 14 Uhr; Heißgetränke und Säfte
    dining | kochkurs | Kochkurs „Möwe, Meer & Mehl“ | 95
      | Ein Abend am Herd mit unserer Küchenchefin.
      | Vier Stunden Kurs; Menü und Getränke; Schürze zum Behalten
    spa | thermentag | Thermentag | 38 people
      | Ein ganzer Tag in Bädern, Dampf und Stille.
      | Eintritt für den ganzen Tag; Leihbademantel; Kräutertee
    spa | rueckenmassage | Rückenmassage mit Moor | 62
      | Warmes Moor und fünfzig Minuten für Ihren Rücken.
      | 50 Minuten; Ruheraum im Anschluss
    stay | uebernachtung | Übernachtung mit Frühstück | 118 nights
      | Ein Doppelzimmer mit Blick ins Grüne und ein langes Frühstück.
      | Doppelzimmer; Frühstück bis 11 Uhr; Später Check-out
    stay | genussauszeit | Genussauszeit | 189 nights
      | Abendmenü, Zimmer, Frühstück: einmal nichts müssen.
      | Drei-Gänge-Menü für zwei; Doppelzimmer; Frühstück
  `),
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
    cards: 'Wertgutscheine',
    dining: 'Essen & Trinken',
    spa: 'Wellness',
    stay: 'Übernachten',
    season: 'Ideen der Saison',
  },
}

const japanese: Phrases = {
  offerings: readOfferings(`
    dining | kaiseki | 季節の懐石料理 | 78 people
      | 旬の食材を使った九品の懐石コースです。
      | 懐石九品; 食前酒; 個室（ご希望の方）
    dining | lunch-bento | 昼の松花堂弁当 | 24 people
      | 庭を眺めながら、ゆっくりと昼のひとときを。
      | 松花堂弁当; 抹茶と和菓子
    spa | day-onsen | 日帰り温泉 | 18 people
      | 源泉かけ流しの湯を一日お楽しみください。
      | 入浴（10時〜21時）; 手ぬぐい; 湯上がりの一杯
    spa | shiatsu | 指圧 60分 | 52
      | 旅の疲れをほぐす六十分。
      | 指圧60分; ハーブティー
    stay | ryokan-stay | 一泊二食付きプラン | 210 nights
      | 露天風呂付き客室と、夕・朝のお食事。
      | 和室（二名様）; 夕食・朝食; 貸切風呂
  `),
  themes: { '': '*', haru: '【春限定】*', momiji: '【紅葉】*', kinenbi: '【記念日】*', heijitsu: '【平日】*' },
  cards: { 'gift-card': 'ギフトカード', 'birthday-gift-card': 'お誕生日ギフトカード' },
  cardSummary: 'お食事にも、ご宿泊にもお使いいただけます。',
  cardIncludes: ['メールまたは封書でお届け', '残高の範囲で何度でも'],
  people: ['お一人様', 'お二人様', '四名様'],
  nights: ['一泊', '二泊', '三泊'],
  terms: ['要予約。', '年末年始は除外日となります。', '払い戻しはできません。'],
  redemption: ['ご到着の際にご提示ください。', 'ご予約時に番号をお知らせください。'],
  categories: { cards: 'ギフトカード', dining: 'お食事', spa: '温泉・スパ', stay: 'ご宿泊', season: '季節のおすすめ' },
}

/** English texts with Arabic titles, as on menus in the Gulf states. */
const arabic: Phrases = {
  offerings: readOfferings(`
    dining | friday-brunch | Friday Brunch · برنش الجمعة | 44 people
      | A long table of mezze, grills and sweets, every Friday from noon.
      | Mezze & grills; Fresh juices; حلويات شرقية
    dining | ghabga | Ghabga · غبقة رمضانية | 38 people
      | مائدة رمضانية بعد التراويح حتى السحور
      | Ramadan drinks; Live machboos station
    dining | pearl-divers-supper | The Pearl Diver's Supper · عشاء الغواص | 62.5
      | The catch of the day over charcoal, with rice and dakkous.
      | Five courses; Karak tea
    spa | hammam | Hammam · حمّام تقليدي | 55
      | Steam, black soap and an hour of quiet.
      | 60 minutes; Mint tea
    stay | seaside-night | A Night by the Sea · ليلة على البحر | 160 nights
      | A room with a balcony over the water, and breakfast.
      | Room for two; Breakfast
  `),
  themes: { '': '*', eid: '* (Eid · عيد)', family: '* (Family · عائلة)', midweek: '* (Midweek)' },
  cards: { 'gift-card': 'Gift Card · بطاقة هدية', 'eid-gift-card': 'Eid Gift Card · عيدية' },
  cardSummary: 'For everything on the menu. لكل ما في القائمة.',
  cardIncludes: ['Sent by e-mail or message', 'Spend it at once or bit by bit'],
  people: ['for one', 'for two', 'for four'],
  nights: ['one night', 'two nights', 'three nights'],
  terms: ['Please book ahead.', 'غير قابلة للاسترداد.', 'Service charge included.'],
  redemption: ['Show this voucher when you arrive.', 'يرجى إبراز القسيمة عند الوصول'],
  categories: {
    cards: 'Gift Cards · بطاقات',
    dining: 'Dining · مطاعم',
    spa: 'Wellness · عافية',
    stay: 'Stays · إقامة',
    season: 'Season · الموسم',
  },
}

/** The texts of the catalogue, by language (ISO 639-1). */
export const phrases = { en: english, de: german, ja: japanese, ar: arabic }
