/** An amount in the minor unit of its currency, for example pence, yen or fils. */
export type MinorUnits = number

/** An ISO 4217 code. */
export type Currency = keyof typeof currencies

const currencies = {
  GBP: { digits: 2, perPound: 1, step: 50, label: '£*', cards: [25, 50, 100, 150, 250] },
  EUR: { digits: 2, perPound: 1.15, step: 50, label: '€*', cards: [25, 50, 75, 100, 200] },
  JPY: { digits: 0, perPound: 190, step: 100, label: '¥*', cards: [3_000, 5_000, 10_000, 30_000] },
  KWD: { digits: 3, perPound: 0.4, step: 125, label: 'KD *', cards: [10, 20, 50, 100] },
  BHD: { digits: 3, perPound: 0.48, step: 125, label: 'BD *', cards: [10, 25, 50, 100] },
}

/** Formats an amount in major units, with all digits of its currency: `25.00`, `5000`, `7.385`. */
export function formatAmount(amount: MinorUnits | null, currency: Currency): string | null {
  if (amount === null) return null
  const { digits } = currencies[currency]
  return (amount / 10 ** digits).toFixed(digits)
}

/**
 * Rounds an amount to a typical price, for example to a multiple of 50 pence, 100 yen or 125 fils. The result is at
 * least one such multiple.
 */
export function roundToPrice(amount: number, currency: Currency): MinorUnits {
  const { step } = currencies[currency]
  return Math.max(1, Math.round(amount / step)) * step
}

/** Converts a price in pounds to a rounded price in a currency. */
export function priceIn(currency: Currency, pounds: number): MinorUnits {
  const { digits, perPound } = currencies[currency]
  return roundToPrice(pounds * perPound * 10 ** digits, currency)
}

/** Reduces a price by a percentage, and rounds it. */
export const reducePrice = (amount: MinorUnits, currency: Currency, percent: number): MinorUnits =>
  roundToPrice((amount * (100 - percent)) / 100, currency)

/** Returns the amounts of gift cards in a currency, each with the label in the shop. */
export function cardAmounts(currency: Currency): { label: string; major: number; amount: MinorUnits }[] {
  const { digits, label, cards } = currencies[currency]
  return cards.map(major => ({
    label: label.replace('*', major.toLocaleString('en')),
    major,
    amount: major * 10 ** digits,
  }))
}
