import { type Currency, cardAmounts, type Minor, priceIn, reduced, rounded } from './currency.ts'
import { type Kind, type Offering, phrases } from './data/offerings.ts'
import { Draw } from './random.ts'
import { firstSlotOf, type Seller, slots } from './tenant.ts'

/** A form in which a product is sold; ids of products and of variants are never the same. */
export interface DemoVariant {
  id: number
  slug: string
  title: string
  price: Minor
  salePrice: Minor | null
}

/** What a product is, and what a voucher for it needs to know. */
export interface DemoProduct {
  id: number
  seller: Seller
  /** Its place among the tenant's products, from 0. */
  place: number
  title: string
  slug: string
  /** None when it is worth an amount of money. */
  offering: Offering | null
  category: 'cards' | Kind
  currency: Currency
  /** None where its variants have prices. */
  price: Minor | null
  salePrice: Minor | null
  monetaryValue: Minor | null
  allowPartRedeem: boolean
  validityType: string | null
  validityMonths: number | null
  variants: readonly DemoVariant[]
}

/** Products at scale 1; a multiple of the slots, so that every slot has equally many. */
export const productsAtScaleOne = slots.length * 3

const validities: readonly [string | null, number | null][] = [
  ...[12, 12, 12, 6, 18, 24, 36, 60].map((months): [string, number] => ['months_from_purchase', months]),
  ['months_from_issue', 12],
  ['end_of_next_year', null],
  ['no_expiry', null],
  [null, null],
]

/** How much more several people (one, two, four), or nights (one, two, three), cost than one. */
const multiples = { people: [1, 1.95, 3.8], nights: [1, 1.95, 2.85] } as const

/** @returns the number of one of the tenant's products, chosen by chance */
export function drawProduct(draw: Draw, seller: Seller, productCount: number): number {
  const slot = firstSlotOf.get(seller.id)! + draw.below(seller.weight)
  // Some sell far better than others.
  return slot + slots.length * draw.below(draw.below(productCount / slots.length) + 1)
}

/** Vouchers come back to the same products again and again. */
const recent = new Map<number, DemoProduct>()
const recentLimit = 16_384

/** @param row the number of the product, from 0 */
export function productAt(row: number): DemoProduct {
  let product = recent.get(row)
  if (!product) {
    if (recent.size === recentLimit) recent.clear()
    product = makeProduct(row)
    recent.set(row, product)
  }
  return product
}

function makeProduct(row: number): DemoProduct {
  const slot = row % slots.length
  const seller = slots[slot]!
  const place = Math.floor(row / slots.length) * seller.weight + slot - firstSlotOf.get(seller.id)!
  const draw = new Draw('product', row)
  const currency = draw.percent(85) ? seller.currencies[0] : draw.pick(seller.currencies)
  const [validityType, validityMonths] = draw.pick(validities)
  const common = { id: (row + 1) * 10, seller, place, currency, validityType, validityMonths }
  return place % 4 === 0 ? { ...common, ...giftCard(draw, common) } : { ...common, ...experience(draw, common) }
}

type Common = Pick<DemoProduct, 'id' | 'seller' | 'place' | 'currency' | 'validityType' | 'validityMonths'>
type Rest = Omit<DemoProduct, keyof Common>

function giftCard(draw: Draw, { id, seller, place, currency }: Common): Rest {
  const amounts = cardAmounts(currency)
  const { cards } = phrases[seller.language]
  const number = place / 4
  // By turns a card for any of several amounts, and one for a fixed amount.
  const round = Math.floor(number / 2)
  const card = cards[round % cards.length]!
  const edition = Math.floor(round / cards.length)
  const common = { offering: null, category: 'cards', allowPartRedeem: number === 0 || draw.percent(85) } as const
  if (number % 2 === 1) {
    const { label, major, amount } = draw.pick(amounts)
    return {
      ...common,
      title: numbered(`${card.title} ${label}`, edition),
      slug: numberedSlug(`${card.slug}-${major}`, edition),
      price: amount,
      salePrice: draw.percent(30) ? reduced(amount, currency, 20) : null,
      monetaryValue: amount,
      variants: [],
    }
  }
  const variants = amounts.map(({ label, major, amount }, index) => {
    const salePrice = number > 0 && index > 1 && draw.percent(25) ? reduced(amount, currency, 10) : null
    return { id: id + index + 1, slug: `${card.slug}-${major}`, title: label, price: amount, salePrice }
  })
  const title = numbered(card.title, edition)
  const slug = numberedSlug(card.slug, edition)
  return { ...common, title, slug, price: null, salePrice: null, monetaryValue: null, variants }
}

function experience(draw: Draw, { id, seller, place, currency }: Common): Rest {
  const language = phrases[seller.language]
  const offerings = language.offerings.filter(({ kind }) => seller.kinds.includes(kind))
  const number = place - Math.floor(place / 4) - 1
  const offering = offerings[number % offerings.length]!
  const round = Math.floor(number / offerings.length)
  const theme = language.themes[round % language.themes.length]!
  const edition = Math.floor(round / language.themes.length)
  const common = {
    offering,
    category: offering.kind,
    title: numbered(theme.title.replace('*', offering.title), edition),
    slug: numberedSlug(theme.slug ? `${theme.slug}-${offering.slug}` : offering.slug, edition),
    monetaryValue: null,
    allowPartRedeem: false,
  }
  const price = priceIn(currency, offering.pounds * (1 + draw.below(20) / 100))
  const percentOff = draw.percent(20) ? draw.pick([10, 15, 20, 25]) : 0
  const sale = (amount: Minor) => (percentOff > 0 ? reduced(amount, currency, percentOff) : null)
  const { by } = offering
  if (!by) return { ...common, price, salePrice: sale(price), variants: [] }
  const variants = language[by].slice(0, draw.between(2, 3)).map((title, index) => {
    const several = rounded(price * multiples[by][index]!, currency)
    const slug = `${offering.slug}-${index + 1}`
    return { id: id + index + 1, slug, title, price: several, salePrice: sale(several) }
  })
  return { ...common, price: null, salePrice: null, variants }
}

const numbered = (title: string, edition: number) => (edition === 0 ? title : `${title} No. ${edition + 1}`)
const numberedSlug = (slug: string, edition: number) => (edition === 0 ? slug : `${slug}-no-${edition + 1}`)
