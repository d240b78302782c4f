/** The category of an experience. */
export type ExperienceCategory = 'dining' | 'spa' | 'stay'

/** An experience that a venue sells. */
export interface Offering {
  category: ExperienceCategory
  slug: string
  title: string
  summary: string
  includes: readonly string[]
  /** The price in pounds for one person or one night. */
  pounds: number
  /** The property in which its variants differ, if it has variants. */
  by?: 'people' | 'nights'
}

/** The texts of a catalogue in one language. Titles of themes and of gift cards are by slug. */
export interface Phrases {
  offerings: readonly Offering[]
  /** `*` stands for the title of the offering. */
  themes: Readonly<Record<string, string>>
  cards: Readonly<Record<string, string>>
  cardSummary: string
  cardIncludes: readonly string[]
  people: readonly [string, string, string]
  nights: readonly [string, string, string]
  terms: readonly string[]
  redemption: readonly string[]
  categories: Record<'cards' | ExperienceCategory | 'season', string>
}
