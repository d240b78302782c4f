/** How often people buy gift vouchers at different times. The weights of one list are relative to each other. */
import type { Country } from './places.ts'

/** The weights of the months without feasts, January first. In summer fewer vouchers are sold. */
export const months = [70, 84, 92, 84, 90, 82, 66, 60, 74, 86, 100, 108] as const

/** The weights of the weekdays, Sunday first. */
export const weekdays = [88, 98, 92, 96, 106, 126, 112] as const

/**
 * The weights of the hours of the day, in the shop's time zone. Most vouchers are sold around lunch and in the evening.
 */
export const hours = [3, 2, 1, 1, 1, 2, 5, 12, 22, 32, 38, 44, 50, 44, 38, 36, 38, 44, 54, 66, 72, 62, 38, 14] as const

/** By how much a feast increases the sales of the days before it; 1 doubles the sales of the last days. */
interface Feasts {
  /** The factor of Christmas, for the five weeks before 25 December. */
  christmas: number
  /** The Friday of the fourth week of November, and the three days after it. */
  blackFriday: number
  valentine: number
  mothersDay: number
  /** `lent`: three weeks before Easter; `may`: the second Sunday of May; `march`: 21 March. */
  mothersDayIn: 'lent' | 'may' | 'march'
  /** The third Sunday of June. */
  fathersDay: number
}

const british: Feasts = {
  christmas: 7,
  blackFriday: 2,
  valentine: 1.8,
  mothersDay: 2.6,
  mothersDayIn: 'lent',
  fathersDay: 1.2,
}
const gulf: Feasts = {
  christmas: 2,
  blackFriday: 2.4,
  valentine: 0.8,
  mothersDay: 2.8,
  mothersDayIn: 'march',
  fathersDay: 0.4,
}

export const feasts: Record<Country, Feasts> = {
  GB: british,
  IE: british,
  DE: { ...british, mothersDayIn: 'may', blackFriday: 1.4, fathersDay: 0.6 },
  JP: { ...british, christmas: 4, mothersDayIn: 'may', blackFriday: 0.8 },
  KW: gulf,
  BH: gulf,
}
