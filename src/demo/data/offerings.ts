import { arabic } from './arabic.ts'
import { english } from './english.ts'
import { german } from './german.ts'
import { japanese } from './japanese.ts'

export type Language = 'en' | 'de' | 'ja' | 'ar'
export type Kind = 'dining' | 'spa' | 'stay'

/** Something that a house does for a price. */
export interface Offering {
  kind: Kind
  slug: string
  title: string
  summary: string
  includes: readonly string[]
  /** For one, or for one night. */
  pounds: number
  /** In what it varies, if it does. */
  by?: 'people' | 'nights'
}

/** What a language calls the rest of a catalog. In a theme `*` stands for the title. */
export interface Phrases {
  offerings: readonly Offering[]
  themes: readonly { slug: string; title: string }[]
  /** A gift card, for this and that. */
  cards: readonly { slug: string; title: string }[]
  cardSummary: string
  cardIncludes: readonly string[]
  people: readonly [string, string, string]
  nights: readonly [string, string, string]
  terms: readonly string[]
  redemption: readonly string[]
  categories: Record<'cards' | Kind | 'season', string>
}

export const phrases: Record<Language, Phrases> = { en: english, de: german, ja: japanese, ar: arabic }
