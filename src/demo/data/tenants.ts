import type { Currency } from '../currency.ts'
import type { Language } from './offerings.ts'
import type { ExperienceCategory } from './phrases.ts'
import type { Country } from './places.ts'

/** An invented tenant. Its id is its position in the list, from 1. */
export interface DemoTenant {
  parent: number | null
  type: 'group' | 'region' | 'venue'
  name: string
  subdomain: string | null
  timeZone: string
  country: Country
  language: Language
  /** The first is the default. */
  currencies: readonly [Currency, ...Currency[]]
  categories: readonly ExperienceCategory[]
  /** Its share of the products, vouchers and customers, relative to other tenants; 0 means none. */
  weight: number
}

const london = { timeZone: 'Europe/London', country: 'GB', language: 'en', currencies: ['GBP'] } as const
const dublin = { timeZone: 'Europe/Dublin', country: 'IE', language: 'en', currencies: ['EUR'] } as const
const berlin = { timeZone: 'Europe/Berlin', country: 'DE', language: 'de', currencies: ['EUR'] } as const
const tokyo = { timeZone: 'Asia/Tokyo', country: 'JP', language: 'ja', currencies: ['JPY'] } as const
const kuwait = { timeZone: 'Asia/Kuwait', country: 'KW', language: 'ar', currencies: ['KWD'] } as const
const bahrain = { timeZone: 'Asia/Bahrain', country: 'BH', language: 'ar', currencies: ['BHD'] } as const

const restaurant = { type: 'venue', categories: ['dining'] } as const
const hotel = { type: 'venue', categories: ['stay', 'dining'] } as const
const spa = { type: 'venue', categories: ['spa'] } as const
const everything = { categories: ['dining', 'spa', 'stay'] } as const

export const tenants: readonly DemoTenant[] = [
  {
    ...london,
    ...everything,
    ...{ parent: null, type: 'group', name: 'Foxglove & Tern Collection', subdomain: 'foxgloveandtern' },
    ...{ currencies: ['GBP', 'EUR'], weight: 20 },
  },
  { parent: 1, name: 'The Copper Heron, Bath', subdomain: 'copperheron', ...london, ...restaurant, weight: 2 },
  { parent: 1, name: 'Tern House Hotel, York', subdomain: 'ternhouse', ...london, ...hotel, weight: 3 },
  { parent: 1, name: 'Saltmoth Kitchen, Whitby', subdomain: 'saltmoth', ...london, ...restaurant, weight: 2 },
  {
    ...dublin,
    ...everything,
    ...{ parent: 1, type: 'region', name: 'Foxglove & Tern Ireland', subdomain: null, weight: 0 },
  },
  { parent: 5, name: 'The Amber Currach, Dublin', subdomain: 'ambercurrach', ...dublin, ...restaurant, weight: 2 },
  { parent: 5, name: 'Curlew Lodge, Galway', subdomain: 'curlewlodge', ...dublin, ...hotel, weight: 3 },
  { parent: 7, name: 'Moss & Mineral at Curlew Lodge', subdomain: 'mossandmineral', ...dublin, ...spa, weight: 1 },
  {
    ...berlin,
    ...everything,
    ...{ parent: null, type: 'group', name: 'Lindwurm & Söhne Gastlichkeit', subdomain: 'lindwurm-soehne', weight: 2 },
  },
  {
    parent: 9,
    name: 'Gasthaus Blauer Storch, Lübeck',
    subdomain: 'blauer-storch',
    ...berlin,
    ...restaurant,
    weight: 2,
  },
  { parent: 9, name: 'Hotel Silberfichte, Freiburg', subdomain: 'silberfichte', ...berlin, ...hotel, weight: 2 },
  { parent: 9, name: 'Waldtherme Moosgrund', subdomain: 'waldtherme-moosgrund', ...berlin, ...spa, weight: 2 },
  {
    ...tokyo,
    ...everything,
    ...{ parent: null, type: 'group', name: 'Paper Lantern Houses', subdomain: 'paperlantern', weight: 1 },
  },
  { parent: 13, name: '旅館 月影庵 (Tsukikage-an)', subdomain: 'tsukikagean', ...tokyo, ...hotel, weight: 2 },
  { parent: 13, name: '白鷺の湯 (Shirasagi Onsen)', subdomain: 'shirasagi-onsen', ...tokyo, ...spa, weight: 2 },
  {
    ...kuwait,
    ...everything,
    ...{ parent: 13, type: 'region', name: 'Paper Lantern Gulf', subdomain: null, weight: 0 },
  },
  { parent: 16, name: 'Saffron Dhow, Kuwait City', subdomain: 'saffrondhow', ...kuwait, ...restaurant, weight: 2 },
  {
    parent: 16,
    name: "The Pearl Diver's Table, Manama",
    subdomain: 'pearldiver',
    ...bahrain,
    ...restaurant,
    weight: 1,
  },
  { parent: null, name: "Pedr's Bakehouse, Swansea", subdomain: 'pedrsbakehouse', ...london, ...restaurant, weight: 1 },
]
