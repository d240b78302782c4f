import { z } from 'zod'

/** The length of a day in UTC, in milliseconds. */
export const millisecondsPerDay = 86_400_000

export const dateMessage = 'Give a date, such as 2026-01-31.'

/** Parses a calendar date, `YYYY-MM-DD`, of the years 1 to 9999. Returns null when the text is not such a date. */
export const parseDate = (text: string): string | null => (z.regexes.date.test(text) && text >= '0001' ? text : null)
