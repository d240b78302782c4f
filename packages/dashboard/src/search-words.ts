/** Returns a text in one case, in every language of the viewer, for example `SS` for `ß`. */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase()

/** Returns the words of a text that is searched, as `foldCase` has them, without invisible characters around them. */
export const searchWords = (text: string): readonly string[] => foldCase(text).match(/[^\s\p{C}]+/gu) ?? []
