import { formatAmount } from './currency.ts'
import { phrases } from './data/phrases.ts'
import { type DemoProduct, productAt } from './product.ts'
import { Random } from './random.ts'
import type { Row } from './row.ts'
import { sellers } from './tenant.ts'

const categories = ['cards', 'dining', 'spa', 'stay', 'season'] as const

const categoryId = (tenantId: number, category: (typeof categories)[number]) =>
  tenantId * 10 + categories.indexOf(category)

/** Yields the rows of `category`. */
export function* categoryRows(): Generator<Row> {
  for (const { id: tenant_id, language, weight } of sellers) {
    if (weight === 0) continue
    for (const [index, slug] of categories.entries()) {
      const title = phrases[language].categories[slug]
      yield { id: categoryId(tenant_id, slug), tenant_id, slug, title, sort_order: index * 10 }
    }
  }
}

/** Yields the rows of `product`. */
export function* productRows(count: number): Generator<Row> {
  for (let row = 0; row < count; row++) {
    const product = productAt(row)
    const { currency, offering, seller } = product
    const { cardSummary, redemption } = phrases[seller.language]
    const random = new Random('product text', row)
    const images = imagesOf(product, random.percent(10) ? 0 : random.between(1, 4))
    yield {
      id: product.id,
      tenant_id: seller.id,
      slug: product.slug,
      title: product.title,
      summary: random.percent(15) ? null : (offering?.summary ?? cardSummary),
      description_html: random.percent(6) ? null : descriptionOf(product, random),
      currency,
      price: formatAmount(product.price, currency),
      sale_price: formatAmount(product.salePrice, currency),
      monetary_value: formatAmount(product.monetaryValue, currency),
      is_monetary: offering === null,
      allow_part_redeem: product.allowPartRedeem,
      validity_type: product.validityType,
      validity_months: product.validityMonths,
      redemption_info: random.percent(20) ? null : random.pick(redemption),
      sort_order: (product.place % 12) * 10,
      image_url: images[0] ?? null,
      image_urls: images,
    }
  }
}

/** Yields the rows of `variant`. */
export function* variantRows(count: number): Generator<Row> {
  for (let row = 0; row < count; row++) {
    const { id: product_id, variants, currency, offering } = productAt(row)
    for (const [index, { id, slug, title, price, salePrice }] of variants.entries()) {
      yield {
        ...{ id, product_id, slug, title },
        price: formatAmount(price, currency),
        sale_price: formatAmount(salePrice, currency),
        currency,
        is_monetary: offering === null,
        sort_order: index,
      }
    }
  }
}

/** Yields the rows of `product_category`. */
export function* productCategoryRows(count: number): Generator<Row> {
  for (let row = 0; row < count; row++) {
    const { id: product_id, seller, category } = productAt(row)
    const random = new Random('product category', row)
    if (random.percent(5)) continue
    yield { product_id, category_id: categoryId(seller.id, category) }
    if (random.percent(30)) yield { product_id, category_id: categoryId(seller.id, 'season') }
  }
}

function imagesOf({ seller, slug }: DemoProduct, count: number): string[] {
  const folder = `https://images.example.com/${seller.subdomain ?? seller.id}/${slug}`
  return Array.from({ length: count }, (_, index) => `${folder}/${index + 1}.jpg`)
}

function descriptionOf({ title, offering, seller }: DemoProduct, random: Random): string {
  const { cardSummary, cardIncludes, terms } = phrases[seller.language]
  const items = (offering?.includes ?? cardIncludes).map(item => `  <li>${escapeHtml(item)}</li>\n`)
  const heading = random.percent(40) ? `<h3>${escapeHtml(title)}</h3>\n` : ''
  const where = random.percent(50)
    ? ` <a href="https://www.example.com/${seller.subdomain ?? ''}">${escapeHtml(seller.name)}</a>`
    : ''
  const intro = `<p>${escapeHtml(offering?.summary ?? cardSummary)}${where}</p>\n`
  return `${heading}${intro}<ul>\n${items.join('')}</ul>\n<p><em>${escapeHtml(random.pick(terms))}</em></p>`
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

const escapeHtml = (text: string) => text.replace(/[&<>]/g, sign => entities[sign]!)
