import type { Currency } from '../currency.ts'
import type { ExperienceCategory, phrases } from './phrases.ts'
import type { Country } from './places.ts'

/** An invented tenant. The id of a tenant is its position in this list, from 1. */
export interface DemoTenant {
  parent: number | null
  type: 'group' | 'region' | 'venue'
  name: string
  subdomain: string | null
  timeZone: string
  country: Country
  language: keyof typeof phrases
  /** The currencies of the products. The first one is the default. */
  currencies: readonly [Currency, ...Currency[]]
  categories: readonly ExperienceCategory[]
  /**
   * The weight of the tenant: its share of all products, vouchers and customers, relative to other tenants; 0 for a
   * tenant without any.
   */
  weight: number
}

const london = { timeZone: 'Europe/London', country: 'GB', language: 'en', currencies: ['GBP'] } as const
const dublin = { timeZone: 'Europe/Dublin', country: 'IE', language: 'en', currencies: ['EUR'] } as const
const berlin = { timeZone: 'Europe/Berlin', country: 'DE', language: 'de', currencies: ['EUR'] } as const
const tokyo = { timeZone: 'Asia/Tokyo', country: 'JP', language: 'ja', currencies: ['JPY'] } as const
const kuwait = { timeZone: 'Asia/Kuwait', country: 'KW', language: 'ar', currencies: ['KWD'] } as const
const bahrain = { timeZone: 'Asia/Bahrain', country: 'BH', language: 'ar', currencies: ['BHD'] } as const

const group = { parent: null, type: 'group', categories: ['dining', 'spa', 'stay'] } as const
const region = { type: 'region', subdomain: null, categories: ['dining', 'spa', 'stay'], weight: 0 } as const
const restaurant = { type: 'venue', categories: ['dining'], weight: 2 } as const
const hotel = { type: 'venue', categories: ['stay', 'dining'], weight: 3 } as const
const spa = { type: 'venue', categories: ['spa'], weight: 2 } as const

export const tenants: readonly DemoTenant[] = [
  {
    ...london,
    ...group,
    ...{ name: 'Foxglove & Tern Collection', subdomain: 'foxgloveandtern', currencies: ['GBP', 'EUR'], weight: 20 },
  },
  { parent: 1, name: 'The Copper Heron, Bath', subdomain: 'copperheron', ...london, ...restaurant },
  { parent: 1, name: 'Tern House Hotel, York', subdomain: 'ternhouse', ...london, ...hotel },
  { parent: 1, name: 'Saltmoth Kitchen, Whitby', subdomain: 'saltmoth', ...london, ...restaurant },
  { parent: 1, name: 'Foxglove & Tern Ireland', ...dublin, ...region },
  { parent: 5, name: 'The Amber Currach, Dublin', subdomain: 'ambercurrach', ...dublin, ...restaurant },
  { parent: 5, name: 'Curlew Lodge, Galway', subdomain: 'curlewlodge', ...dublin, ...hotel },
  { parent: 7, name: 'Moss & Mineral at Curlew Lodge', subdomain: 'mossandmineral', ...dublin, ...spa, weight: 1 },
  { name: 'Lindwurm & Söhne Gastlichkeit', subdomain: 'lindwurm-soehne', ...berlin, ...group, weight: 2 },
  { parent: 9, name: 'Gasthaus Blauer Storch, Lübeck', subdomain: 'blauer-storch', ...berlin, ...restaurant },
  { parent: 9, name: 'Hotel Silberfichte, Freiburg', subdomain: 'silberfichte', ...berlin, ...hotel, weight: 2 },
  { parent: 9, name: 'Waldtherme Moosgrund', subdomain: 'waldtherme-moosgrund', ...berlin, ...spa },
  { name: 'Paper Lantern Houses', subdomain: 'paperlantern', ...tokyo, ...group, weight: 1 },
  { parent: 13, name: '旅館 月影庵 (Tsukikage-an)', subdomain: 'tsukikagean', ...tokyo, ...hotel, weight: 2 },
  { parent: 13, name: '白鷺の湯 (Shirasagi Onsen)', subdomain: 'shirasagi-onsen', ...tokyo, ...spa },
  { parent: 13, name: 'Paper Lantern Gulf', ...kuwait, ...region },
  { parent: 16, name: 'Saffron Dhow, Kuwait City', subdomain: 'saffrondhow', ...kuwait, ...restaurant },
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
