import type { Country } from './places.ts'

/** Names of a country. After a name in another script follow a bar and the Latin spelling. `_` stands for a space. */
interface Names {
  forenames: readonly string[]
  surnames: readonly string[]
  /** True when the surname comes first; default: false. */
  surnameFirst?: boolean
}

const splitWords = (text: string) => text.trim().split(/\s+/)

const arabic: Names = {
  forenames: splitWords(`
    فاطمة|fatima نورة|noura مريم|maryam لطيفة|latifa دانة|dana شيخة|shaikha هيا|haya عبدالله|abdullah محمد|mohammed
    يوسف|yousef خالد|khaled سلمان|salman بدر|bader حمد|hamad جاسم|jassim ليلى|layla عمر|omar حصة|hessa فيصل|faisal`),
  surnames: splitWords(`
    العنزي|alenezi المطيري|almutairi الرشيدي|alrashidi الخليفي|alkhulaifi البلوشي|albalushi الكندري|alkandari
    العوضي|alawadhi الشمري|alshammari بوعلي|buali المناعي|almannai الدوسري|aldoseri الهاجري|alhajri`),
}

export const names: Record<Country, Names> = {
  GB: {
    forenames: splitWords(`
      Olivia Amelia Isla Ava Mia Freya Poppy Florence Priya Zainab Eleri Catrin Morag Ailsa Grace Hannah Zoë Chloë
      George Arthur Noah Theo Harry Rhys Dafydd Callum Hamish Imran Arjun Kwame Jack Thomas William Edward Renée`),
    surnames: splitWords(`
      Smith Jones Taylor Brown Williams Wilson Davies Evans Patel Khan Hughes Griffiths MacLeod Campbell Fraser
      O'Connor D'Souza Okafor Begum Fairbrother Ashdown Pemberton Thackeray Winterbourne Llewellyn St.John-Hale
      Featherstonehaugh Brontë-Shaw Hollis Marsh`),
  },
  IE: {
    forenames: splitWords(`
      Aoife Saoirse Niamh Siobhán Caoimhe Róisín Gráinne Orla Ciara Sinéad Seán Oisín Cillian Pádraig Conor Eoin
      Darragh Fionn Tadhg Rónán`),
    surnames: splitWords(`
      Murphy Kelly O'Sullivan Walsh O'Brien Byrne Ryan O'Connor O'Neill O'Reilly Doyle McCarthy Gallagher Ó_Dónaill
      Ní_Bhriain Kavanagh Nolan Keane D'Arcy`),
  },
  DE: {
    forenames: splitWords(`
      Lena Anna Käthe Jürgen Björn Sören Günther Heike Ute Jörg Mathilde Emilia Jonas Lukas Zoë Özlem Aylin Mehmet
      Friederike Anneliese Karl-Heinz Götz Bärbel Rüdiger Lotte`),
    surnames: splitWords(`
      Müller Schäfer Köhler Jäger Weiß Großmann Böttcher Schröder Krüger Groß Yıldız Öztürk Hübner Löwe Vogel Brandt
      von_der_Heide Meyer-Lüdenscheidt Fuchs Sauer Strauß Übelacker`),
  },
  JP: {
    surnameFirst: true,
    forenames: splitWords(`
      美咲|misaki さくら|sakura 陽菜|hina 結衣|yui 葵|aoi 花子|hanako 翔太|shota 健|ken 大輔|daisuke 拓海|takumi
      一郎|ichiro 蓮|ren 悠真|yuma 直樹|naoki ひなた|hinata マリア|maria`),
    surnames: splitWords(`
      佐藤|sato 鈴木|suzuki 高橋|takahashi 田中|tanaka 伊藤|ito 渡邊|watanabe 山本|yamamoto 中村|nakamura 小林|kobayashi
      加藤|kato 齋藤|saito 髙田|takada 𠮷野|yoshino 清水|shimizu`),
  },
  KW: arabic,
  BH: arabic,
}
