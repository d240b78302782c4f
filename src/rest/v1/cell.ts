/** Where is written: the same memory as bytes, and as words. */
export interface Target {
  readonly bytes: Buffer
  readonly view: DataView
}

/** A text that is written often: in UTF-8, as words of four bytes, which take less time than bytes do. */
export interface Phrase {
  /** In bytes. */
  readonly length: number
  readonly words: Int32Array
}

export function toPhrase(text: string): Phrase {
  const bytes = Buffer.from(text)
  const words = new Int32Array(Math.ceil(bytes.length / 4))
  const view = new DataView(words.buffer)
  for (const [at, byte] of bytes.entries()) view.setUint8(at, byte)
  return { length: bytes.length, words: words.map((_, index) => view.getInt32(4 * index, true)) }
}

/** By how many bytes the last word of a phrase may run over: what comes next is written over them. */
export const overrun = 3

export const literals = { null: toPhrase('null') }

/** Writes where there is room enough, and returns where the next byte goes. */
export function put({ view }: Target, to: number, { length, words }: Phrase): number {
  for (let index = 0; index < words.length; index++) view.setInt32(to + 4 * index, words[index]!, true)
  return to + length
}
