/** Generates the times of purchases, with growth, seasons, feasts, weekdays and hours of the day. */
import {
  type Day,
  type Microseconds,
  microsecondsPerDay,
  microsecondsPerSecond,
  millisecondsPerDay,
} from './calendar.ts'
import type { Country } from './data/places.ts'
import { feasts, hours, months, weekdays } from './data/seasons.ts'
import type { Random } from './random.ts'
import type { Seller } from './tenant.ts'

/** The number of days in which the vouchers of the demo data were sold, about three years. */
const soldDays = 1_095

const dayOfDate = (year: number, month: number, date: number): Day =>
  Date.UTC(year, month - 1, date) / millisecondsPerDay

/** Returns the day of the week; 0 is Sunday. 1970-01-01 was a Thursday. */
const weekdayOf = (day: Day) => (day + 4) % 7

/** Returns the first day on or after a day that is a given weekday. */
const nextWeekday = (day: Day, weekday: number): Day => day + ((weekday - weekdayOf(day) + 7) % 7)

/** Returns Easter Sunday (the algorithm of Meeus, Jones and Butcher). */
function easterOf(year: number): Day {
  const [a, b, c] = [year % 19, Math.floor(year / 100), year % 100]
  const h = (19 * a + b - Math.floor(b / 4) - Math.floor((8 * b + 13) / 25) + 15) % 30
  const l = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - h - (c % 4)) % 7
  return dayOfDate(year, 3, 22) + h + l - 7 * Math.floor((a + 11 * h + 19 * l) / 433)
}

function mothersDayOf(country: Country, year: number): Day {
  const { mothersDayIn } = feasts[country]
  if (mothersDayIn === 'lent') return easterOf(year) - 21
  return mothersDayIn === 'may' ? nextWeekday(dayOfDate(year, 5, 1), 0) + 7 : dayOfDate(year, 3, 21)
}

/** Returns how near a day is to a feast: 1 on the feast and on the day before, less on earlier days, 0 after it. */
const nearness = (day: Day, feast: Day, daysBefore: number) =>
  day > feast ? 0 : Math.max(0, 1 - Math.max(0, feast - day - 1) / daysBefore)

/** Returns the relative sales on a day in a country, without the growth over the years. */
function demandOn(day: Day, country: Country): number {
  const date = new Date(day * millisecondsPerDay)
  const year = date.getUTCFullYear()
  const { christmas, blackFriday, valentine, mothersDay, fathersDay } = feasts[country]
  const friday = nextWeekday(dayOfDate(year, 11, 22), 4) + 1
  const near = nearness(day, dayOfDate(year, 12, 25), 35)
  // After Christmas the demand is low, except for gifts of money.
  const lull = date.getUTCMonth() === 11 && date.getUTCDate() >= 25 ? 0.55 : 1
  const added =
    (lull === 1 ? christmas * near * near : 0) +
    (day >= friday && day <= friday + 3 ? blackFriday : 0) +
    valentine * nearness(day, dayOfDate(year, 2, 14), 12) +
    mothersDay * nearness(day, mothersDayOf(country, year), 12) +
    fathersDay * nearness(day, nextWeekday(dayOfDate(year, 6, 1), 0) + 14, 9)
  return months[date.getUTCMonth()]! * weekdays[weekdayOf(day)]! * lull * (1 + added)
}

/** By country: the cumulative demand up to each day, and the last day for which these sums were calculated. */
const demandUpTo = new Map<Country, { today: Day; sums: Float64Array }>()

function demandSumsOf(country: Country, today: Day): Float64Array {
  const known = demandUpTo.get(country)
  if (known?.today === today) return known.sums
  const sums = new Float64Array(soldDays)
  let sum = 0
  for (let index = 0; index < soldDays; index++) {
    // The growth factor rises from 1 to 2.8 over the three years.
    sum += demandOn(today - soldDays + index, country) * (1 + (1.8 * index) / soldDays)
    sums[index] = sum
  }
  demandUpTo.set(country, { today, sums })
  return sums
}

const hourTickets = hours.flatMap((share, hour) => Array<number>(share).fill(hour))

const clockFormats = new Map<string, Intl.DateTimeFormat>()
const offsets = new Map<string, Map<Day, number>>()

/** Returns the offset of a time zone from UTC at noon, in minutes. Works only for UTC and for zones east of UTC. */
function minutesAhead(timeZone: string, day: Day): number {
  const byDay = offsets.get(timeZone) ?? new Map<Day, number>()
  offsets.set(timeZone, byDay)
  const known = byDay.get(day)
  if (known !== undefined) return known
  let clock = clockFormats.get(timeZone)
  if (!clock) {
    clock = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
    clockFormats.set(timeZone, clock)
  }
  const [hour = 0, minute = 0] = clock
    .format(day * millisecondsPerDay + 43_200_000)
    .split(':')
    .map(Number)
  const ahead = hour * 60 + minute - 720
  byDay.set(day, ahead)
  return ahead
}

/**
 * Returns the instant of a random purchase, at the latest one hour before the end of the last day (UTC), so that events
 * shortly after the purchase are on the same day.
 *
 * @param today the day of the demo data; all purchases are before this day
 */
export function randomPurchase(random: Random, seller: Seller, today: Day): Microseconds {
  const sums = demandSumsOf(seller.country, today)
  const wanted = (random.below(2 ** 30) / 2 ** 30) * sums[soldDays - 1]!
  let [low, high] = [0, soldDays - 1]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sums[middle]! > wanted) high = middle
    else low = middle + 1
  }
  const day = today - soldDays + low
  const local = random.pick(hourTickets) * 3_600 + random.below(3_600) - minutesAhead(seller.timeZone, day) * 60
  const end = today * microsecondsPerDay - 3_600 * microsecondsPerSecond
  return Math.min(day * microsecondsPerDay + local * microsecondsPerSecond, end) - random.below(microsecondsPerSecond)
}

/** Returns 24 December for a day in the six weeks before it, and null for other days. */
export function christmasEveAfter(day: Day): Day | null {
  const eve = dayOfDate(new Date(day * millisecondsPerDay).getUTCFullYear(), 12, 24)
  return eve > day && eve - day <= 42 ? eve : null
}
