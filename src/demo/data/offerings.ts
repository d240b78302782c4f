import { arabic } from './arabic.ts'
import { english } from './english.ts'
import { german } from './german.ts'
import { japanese } from './japanese.ts'

/** The texts of the catalogue, by language (ISO 639-1). */
export const phrases = { en: english, de: german, ja: japanese, ar: arabic }
