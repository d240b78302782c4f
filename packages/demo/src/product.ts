import { LRUCache } from 'lru-cache'
import { type Currency, cardAmounts, type MinorUnits, priceIn, reducePrice, roundToPrice } from './currency.ts'
import type { ExperienceCategory, Offering } from './data/phrases.ts'
import { phrases } from './data/phrases.ts'
import { Random } from './random.ts'
import { firstSlotOf, type Seller, slots } from './tenant.ts'

/** A variant of a product. Ids of variants are never ids of products. */
interface DemoVariant {
  id: number
  slug: string
  title: string
  price: MinorUnits
  salePrice: MinorUnits | null
}

/** A product of the demo data. Each voucher copies some values of its product. */
export interface DemoProduct {
  id: number
  seller: Seller
  /** The index of the product among the products of its tenant, from 0. */
  place: number
  title: string
  slug: string
  /** The offering that the product sells; null for a gift card. */
  offering: Offering | null
  category: 'cards' | ExperienceCategory
  currency: Currency
  /** The price; null when the variants have prices instead. */
  price: MinorUnits | null
  salePrice: MinorUnits | null
  monetaryValue: MinorUnits | null
  allowPartRedeem: boolean
  validityType: string | null
  validityMonths: number | null
  variants: readonly DemoVariant[]
}

/**
 * The number of products at scale 1. It is a multiple of the number of slots, so that each slot has the same number of
 * products.
 */
export const productsAtScaleOne = slots.length * 3

const validities: readonly [string | null, number | null][] = [
  ...[12, 12, 18, 24, 24, 24, 36, 60].map((months): [string, number] => ['months_from_purchase', months]),
  ['months_from_issue', 12],
  ['end_of_next_year', null],
  ['no_expiry', null],
  [null, null],
]

/** The factors of the price for one, two and four people, and for one, two and three nights. */
const multiples = { people: [1, 1.95, 3.8], nights: [1, 1.95, 2.85] } as const

/** Returns the row number of a random product of the tenant. */
export function randomProductRow(random: Random, seller: Seller, productCount: number): number {
  const slot = firstSlotOf.get(seller.id)! + random.below(seller.weight)
  // Low row numbers are much more frequent, so that some products sell much better than others.
  return slot + slots.length * random.below(random.below(productCount / slots.length) + 1)
}

/** Caches products, because many vouchers have the same product. */
const productCache = new LRUCache<number, DemoProduct>({ max: 16_384, memoMethod: makeProduct })

/** Returns a product of the demo data, from the cache if possible. @param row the row number of the product, from 0 */
export const productAt = (row: number): DemoProduct => productCache.memo(row)

function makeProduct(row: number): DemoProduct {
  const slot = row % slots.length
  const seller = slots[slot]!
  const place = Math.floor(row / slots.length) * seller.weight + slot - firstSlotOf.get(seller.id)!
  const random = new Random('product', row)
  const currency = random.percent(85) ? seller.currencies[0] : random.pick(seller.currencies)
  const [validityType, validityMonths] = random.pick(validities)
  const common = { id: (row + 1) * 10, seller, place, currency, validityType, validityMonths }
  return place % 4 === 0 ? { ...common, ...giftCard(random, common) } : { ...common, ...experience(random, common) }
}

type Common = Pick<DemoProduct, 'id' | 'seller' | 'place' | 'currency' | 'validityType' | 'validityMonths'>
type Rest = Omit<DemoProduct, keyof Common>

function giftCard(random: Random, { id, seller, place, currency }: Common): Rest {
  const amounts = cardAmounts(currency)
  const cards = Object.entries(phrases[seller.language].cards)
  const number = place / 4
  // Every second card has several amounts as variants; the other cards have one fixed amount.
  const round = Math.floor(number / 2)
  const [cardSlug, cardTitle] = cards[round % cards.length]!
  const edition = Math.floor(round / cards.length)
  const common = { offering: null, category: 'cards', allowPartRedeem: number === 0 || random.percent(85) } as const
  if (number % 2 === 1) {
    const { label, major, amount } = random.pick(amounts)
    return {
      ...common,
      title: addNumber(`${cardTitle} ${label}`, edition),
      slug: numberedSlug(`${cardSlug}-${major}`, edition),
      price: amount,
      salePrice: random.percent(30) ? reducePrice(amount, currency, 20) : null,
      monetaryValue: amount,
      variants: [],
    }
  }
  const variants = amounts.map(({ label, major, amount }, index) => {
    const salePrice = number > 0 && index > 1 && random.percent(25) ? reducePrice(amount, currency, 10) : null
    return { id: id + index + 1, slug: `${cardSlug}-${major}`, title: label, price: amount, salePrice }
  })
  const title = addNumber(cardTitle, edition)
  const slug = numberedSlug(cardSlug, edition)
  return { ...common, title, slug, price: null, salePrice: null, monetaryValue: null, variants }
}

function experience(random: Random, { id, seller, place, currency }: Common): Rest {
  const language = phrases[seller.language]
  const offerings = language.offerings.filter(({ category }) => seller.categories.includes(category))
  const number = place - Math.floor(place / 4) - 1
  const offering = offerings[number % offerings.length]!
  const round = Math.floor(number / offerings.length)
  const themes = Object.entries(language.themes)
  const [themeSlug, themeTitle] = themes[round % themes.length]!
  const edition = Math.floor(round / themes.length)
  const common = {
    offering,
    category: offering.category,
    title: addNumber(themeTitle.replace('*', offering.title), edition),
    slug: numberedSlug(themeSlug ? `${themeSlug}-${offering.slug}` : offering.slug, edition),
    monetaryValue: null,
    allowPartRedeem: false,
  }
  const price = priceIn(currency, offering.pounds * (1 + random.below(20) / 100))
  const percentOff = random.percent(20) ? random.pick([10, 15, 20, 25]) : 0
  const sale = (amount: MinorUnits) => (percentOff > 0 ? reducePrice(amount, currency, percentOff) : null)
  const { by } = offering
  if (!by) return { ...common, price, salePrice: sale(price), variants: [] }
  const variants = language[by].slice(0, random.between(2, 3)).map((title, index) => {
    const several = roundToPrice(price * multiples[by][index]!, currency)
    const slug = `${offering.slug}-${index + 1}`
    return { id: id + index + 1, slug, title, price: several, salePrice: sale(several) }
  })
  return { ...common, price: null, salePrice: null, variants }
}

const addNumber = (title: string, edition: number) => (edition === 0 ? title : `${title} No. ${edition + 1}`)
const numberedSlug = (slug: string, edition: number) => (edition === 0 ? slug : `${slug}-no-${edition + 1}`)
