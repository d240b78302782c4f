/** Search in the guides, over the texts of their sections. */
import { type Guide, guides, type RenderedGuide, type Section } from './guides.ts'

export interface Match {
  guide: Guide
  section: Section
  /** Its text, from a little before the first word that is in it. */
  excerpt: string
}

const longestQuery = 200
const mostMatches = 30

/** Returns the sections that contain all words of a query, in any case; those with the words in a heading first. */
export function searchGuides(query: string, rendered: Record<string, RenderedGuide>): Match[] {
  const words =
    query
      .slice(0, longestQuery)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? []
  if (words.length === 0) return []
  const found = guides.flatMap(guide =>
    (rendered[guide.slug]?.sections ?? []).flatMap(section => {
      const heading = `${guide.title} ${section.heading}`.toLowerCase()
      const text = section.text.toLowerCase()
      if (!words.every(word => heading.includes(word) || text.includes(word))) return []
      const inHeading = words.filter(word => heading.includes(word)).length
      return [{ guide, section, excerpt: excerptOf(section.text, words), inHeading }]
    }),
  )
  return found.sort((a, b) => b.inHeading - a.inHeading).slice(0, mostMatches)
}

function excerptOf(text: string, words: readonly string[]): string {
  const parts = text.split(' ')
  const first = parts.findIndex(part => words.some(word => part.toLowerCase().includes(word)))
  const start = Math.max(0, first - 8)
  const end = start + 36
  return [...(start > 0 ? ['…'] : []), ...parts.slice(start, end), ...(end < parts.length ? ['…'] : [])].join(' ')
}
