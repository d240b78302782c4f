/**
 * @param text an identifier as it came from outside
 * @returns the number, or 0 (which no record has) when it is not a plain positive integer up to 2^53 - 1 (R7)
 */
export function parseIdentifier(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text)) return 0
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : 0
}
