/** Returns a text in one case, in every language of the viewer: `SS` for `ß`, too. */
export const folded = (text: string): string => text.toLowerCase().toUpperCase()

/** Returns the words of a text that is searched, as `folded` has them, without invisible characters around them. */
export const searchWords = (text: string): readonly string[] => folded(text).match(/[^\s\p{C}]+/gu) ?? []
