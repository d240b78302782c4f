const withYear = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' })
const withoutYear = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' })

/** @param day `YYYY-MM-DD`; @returns `12 Nov 2026` */
export const dayText = (day: string) => withYear.format(new Date(day))

/** @param day `YYYY-MM-DD`; @returns `12 Nov` */
export const shortDayText = (day: string) => withoutYear.format(new Date(day))
