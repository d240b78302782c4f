import { arabic } from './arabic.ts'
import { english } from './english.ts'
import { german } from './german.ts'
import { japanese } from './japanese.ts'
import type { Phrases } from './phrases.ts'

/** A language of the demo data (ISO 639-1). */
export type Language = 'en' | 'de' | 'ja' | 'ar'

/** The texts of the catalogue, by language. */
export const phrases: Record<Language, Phrases> = { en: english, de: german, ja: japanese, ar: arabic }
