/** Returns a text in a form for comparisons that ignore case, for example `SS` for `ß`. */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase()

/** Returns the words of a search text, case-folded by `foldCase` and without invisible characters around them. */
export const searchWords = (text: string): readonly string[] => foldCase(text).match(/[^\s\p{C}]+/gu) ?? []
