/** A country of the demo data (ISO 3166-1 alpha-2). */
export type Country = 'GB' | 'IE' | 'DE' | 'JP' | 'KW' | 'BH'

/** Addresses and phone numbers of a country, as patterns of `Random.fill`. */
interface Places {
  country: string
  /**
   * The patterns of phone numbers that numbering plans reserve for fiction. Countries without such numbers use North
   * American numbers.
   */
  phones: readonly string[]
  /** Invented streets. */
  streets: readonly string[]
  secondLines: readonly string[]
  towns: readonly { town?: string; city?: string; county?: string; postcode: string }[]
}

const gulfPhones = ['+1 202-555-01##', '+1 (312) 555-01##']

export const places: Record<Country, Places> = {
  GB: {
    country: 'United Kingdom',
    phones: ['07700 900###', '+44 7700 900###', '01632 960###', '020 7946 0###'],
    streets: [
      '% Foxglove Row',
      "% St Wilfrith's Terrace",
      '% Tanpit Lane',
      'The Old Rectory, Heron Green',
      '% Ffordd Wen',
    ],
    secondLines: ['Flat #', 'Little Thornwick', 'Apartment ##, The Maltings', 'c/o Reception'],
    towns: [
      { city: 'Bath', county: 'Somerset', postcode: 'BA1 #@@' },
      { city: 'York', county: 'North Yorkshire', postcode: 'YO1 #@@' },
      { town: 'Whitby', county: 'North Yorkshire', postcode: 'YO21 #@@' },
      { city: 'London', postcode: 'SE1 #@@' },
      { town: 'Clapham', city: 'London', postcode: 'SW4 #@@' },
      { city: 'Swansea', county: 'West Glamorgan', postcode: 'SA1 #@@' },
      { city: 'Edinburgh', county: 'Midlothian', postcode: 'EH3 #@@' },
      { town: 'Bishop’s Stortford', county: 'Hertfordshire', postcode: 'CM23 #@@' },
    ],
  },
  IE: {
    country: 'Ireland',
    phones: ['020 91# ####', '+353 20 91# ####'],
    streets: ['% Currach Quay', "% St Gobnait's Road", '% Bóthar na Faoileán', 'Curlew Cottage, Barrow Lane'],
    secondLines: ['Apt ##', 'Ballyfoxglove', 'Cnoc na Móna'],
    towns: [
      { city: 'Dublin', county: 'Co. Dublin', postcode: 'D02 @@##' },
      { town: 'Dún Laoghaire', city: 'Dublin', county: 'Co. Dublin', postcode: 'A96 @#@#' },
      { city: 'Galway', county: 'Co. Galway', postcode: 'H91 @#@#' },
      { town: 'Clifden', county: 'Co. Galway', postcode: 'H71 @@##' },
    ],
  },
  DE: {
    country: 'Deutschland',
    phones: ['030 23125 ###', '+49 30 23125 ###', '040 66969 ###', '069 90009 ###', '089 99998 ###', '0171 39200##'],
    streets: [
      'Silberfichtenweg %',
      'Am Blauen Storch %',
      'Große Moosgasse %a',
      'Lindwurmstiege %',
      'Straße der Möwen %',
    ],
    secondLines: ['Hinterhaus, 3. OG', 'bei Köhler', 'Wohnung ##'],
    towns: [
      { city: 'Lübeck', county: 'Schleswig-Holstein', postcode: '2355#' },
      { city: 'Freiburg im Breisgau', county: 'Baden-Württemberg', postcode: '7910#' },
      { city: 'Köln', county: 'Nordrhein-Westfalen', postcode: '5066#' },
      { town: 'Schöneberg', city: 'Berlin', postcode: '1082#' },
      { city: 'München', county: 'Bayern', postcode: '8033#' },
    ],
  },
  JP: {
    country: '日本',
    phones: gulfPhones,
    streets: ['月影町#丁目%番地', '白鷺通%', '灯籠坂#-##-#'],
    secondLines: ['ハイツ月影 ###号室', '灯籠マンション ##階'],
    towns: [
      { town: '中京区', city: '京都市', county: '京都府', postcode: '604-8###' },
      { town: '箱根町', county: '神奈川県', postcode: '250-0###' },
      { town: '渋谷区', city: '東京', county: '東京都', postcode: '150-00##' },
      { city: '金沢市', county: '石川県', postcode: '920-08##' },
    ],
  },
  KW: {
    country: 'Kuwait',
    phones: gulfPhones,
    streets: ['Block #, Saffron Street, House %', 'قطعة #، شارع الزعفران، منزل %'],
    secondLines: ['Floor #', 'الدور #'],
    towns: [
      { town: 'Salmiya', city: 'Hawalli', postcode: '220##' },
      { town: 'السالمية', county: 'محافظة حولي', postcode: '220##' },
      { city: 'Kuwait City', postcode: '150##' },
    ],
  },
  BH: {
    country: 'Bahrain',
    phones: gulfPhones,
    streets: ['Villa %, Road ####', 'فيلا %، طريق ####'],
    secondLines: ['Flat ##, Pearl House'],
    towns: [
      { town: 'Juffair', city: 'Manama', postcode: '3##' },
      { city: 'المنامة', postcode: '3##' },
      { city: 'Muharraq', postcode: '2##' },
    ],
  },
}
