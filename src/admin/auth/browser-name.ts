// The first entry whose first text is part of the User-Agent header gives the name.
const browsers = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['CriOS', 'Chrome'],
  ['Safari', 'Safari'],
  ['curl', 'curl'],
] as const

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** Returns the usual name of a browser, as in `Firefox on Linux`. */
export function browserName(userAgent: string | null): string {
  const nameIn = (entries: readonly (readonly [string, string])[]) =>
    entries.find(([part]) => userAgent?.includes(part))?.[1]
  return [nameIn(browsers), nameIn(systems)].filter(Boolean).join(' on ') || 'Unknown'
}
