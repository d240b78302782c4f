/**
 * A character that is trimmed (R27): white space, a control character or a character without a width. `gateway.visible`
 * (`sql/0002`) must have the same characters.
 */
export const invisible =
  '[\\u0000-\\u0020\\u007f-\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f' +
  '\\u205f-\\u206f\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0]'

export const visibleCharacter = new RegExp(`[^${invisible.slice(1)}`)

const isInvisible = new RegExp(invisible)

/** Returns a text without the invisible characters at both ends (R27); empty when all characters are invisible. */
export function trimInvisible(text: string): string {
  const start = text.search(visibleCharacter)
  if (start < 0) return ''
  // Searches the end with a loop, because a regular expression would start a match at each invisible character of the
  // text.
  let end = text.length
  while (isInvisible.test(text.charAt(end - 1))) end--
  return text.slice(start, end)
}
