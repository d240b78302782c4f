/** An amount in the minor unit of its currency: pence, yen, fils. */
export type Minor = number

/** An ISO 4217 code. */
export type Currency = keyof typeof currencies

const currencies = {
  GBP: { digits: 2, perPound: 1, step: 50, label: '£*', cards: [25, 50, 100, 150, 250] },
  EUR: { digits: 2, perPound: 1.15, step: 50, label: '€*', cards: [25, 50, 75, 100, 200] },
  JPY: { digits: 0, perPound: 190, step: 100, label: '¥*', cards: [3_000, 5_000, 10_000, 30_000] },
  KWD: { digits: 3, perPound: 0.4, step: 125, label: 'KD *', cards: [10, 20, 50, 100] },
  BHD: { digits: 3, perPound: 0.48, step: 125, label: 'BD *', cards: [10, 25, 50, 100] },
}

/** @returns the amount in major units, with all digits of its currency: `25.00`, `5000`, `7.385` */
export function decimal(amount: Minor, currency: Currency): string {
  const { digits } = currencies[currency]
  if (digits === 0) return String(amount)
  const text = String(amount).padStart(digits + 1, '0')
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

/** @returns the amount as a price list would have it: a multiple of 50 pence, 100 yen or 125 fils, and never nothing */
export function rounded(amount: number, currency: Currency): Minor {
  const { step } = currencies[currency]
  return Math.max(1, Math.round(amount / step)) * step
}

/** @returns what something that costs so many pounds costs in a currency */
export function priceIn(currency: Currency, pounds: number): Minor {
  const { digits, perPound } = currencies[currency]
  return rounded(pounds * perPound * 10 ** digits, currency)
}

/** @returns the price with so many per cent off */
export function reduced(amount: Minor, currency: Currency, percent: number): Minor {
  return rounded((amount * (100 - percent)) / 100, currency)
}

/** @returns the amounts of a gift card: what the button says, and what it is worth */
export function cardAmounts(currency: Currency): { label: string; major: number; amount: Minor }[] {
  const { digits, label, cards } = currencies[currency]
  return cards.map(major => ({
    label: label.replace('*', String(major).replace(/\B(?=(\d{3})+$)/g, ',')),
    major,
    amount: major * 10 ** digits,
  }))
}
