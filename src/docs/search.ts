/** Searches the guides in an index of their sections, which the build makes. */
import { readFile } from 'node:fs/promises'
import MiniSearch, { type Options } from 'minisearch'
import { docsPath } from '../http/paths.ts'
import { synonyms } from './synonyms.ts'

export interface Section {
  /** The guide of the section, with the anchor of the heading: `paging#cursors`. */
  id: string
  /** The title of its guide. */
  guide: string
  heading: string
  /** The text of the section, without blocks of code. */
  text: string
}

export interface Match {
  address: string
  title: string
  /** A part of the text that begins shortly in front of the first word that was found. */
  excerpt: string
}

const longestQuery = 200
const maxWords = 10
const maxMatches = 30

/** The words that a search ignores, because they occur in too many sections. */
const ignoredWords = new Set('a an and are can do does for how i in is it my of on or that the to what with'.split(' '))

const wordsOf = (text: string) => text.match(/[\p{L}\p{N}_]+/gu) ?? []

/** Returns a word and its parts, so that a search for `valid` also finds `date_valid_end` and `dateValidEnd`. */
const splitIntoParts = (word: string) => [...new Set([word, ...word.split(/_|(?<=\p{Ll})(?=\p{Lu})/u)])]

const toTerm = (word: string) => (ignoredWords.has(word.toLowerCase()) ? null : word.toLowerCase())

/**
 * A section matches when it has all words of the query. A word of the query may be the beginning of a word in the
 * section, or have one or two typing mistakes.
 */
const indexOptions: Options<Section> = {
  fields: ['heading', 'guide', 'text'],
  storeFields: ['heading', 'guide', 'text'],
  tokenize: text => wordsOf(text).flatMap(splitIntoParts),
  processTerm: word => {
    const term = toTerm(word)
    return term && [term, ...(synonyms.get(term) ?? [])]
  },
  searchOptions: {
    tokenize: query => wordsOf(query.slice(0, longestQuery)).slice(0, maxWords),
    processTerm: toTerm,
    combineWith: 'AND',
    boost: { heading: 4, guide: 2 },
    boostDocument: id => (/^(graphql-types|changelog)/.test(id) ? 0.6 : 1),
    // With `b: 0` the length of a section does not matter, so a long table of fields ranks as high as a short text.
    bm25: { k: 1.2, b: 0, d: 0.5 },
    prefix: true,
    fuzzy: term => (term.length > 3 ? 0.2 : false),
    maxFuzzy: 2,
  },
}

/**
 * The options for a second search when a query finds nothing. They allow two mistakes even in a word of six or seven
 * letters, because two letters in the wrong order count as two mistakes.
 */
const tolerantSearchOptions = { fuzzy: (term: string) => term.length > 3 && (term.length > 5 ? 2 : 1) }

/** Returns the index of sections as JSON. */
export function indexSections(sections: readonly Section[]): string {
  const index = new MiniSearch(indexOptions)
  index.addAll(sections)
  return JSON.stringify(index)
}

/** Reads the index that the build wrote. @returns a function that returns the sections for a query, the best first */
export async function openSearch(): Promise<(query: string) => Match[]> {
  const index = await MiniSearch.loadJSONAsync(
    await readFile(new URL('../../dist/docs/search.json', import.meta.url), 'utf8'),
    indexOptions,
  )
  return query => {
    const found = index.search(query)
    return (found.length > 0 ? found : index.search(query, tolerantSearchOptions))
      .slice(0, maxMatches)
      .map(({ id, guide, heading, text, terms }) => ({
        address: `${docsPath}/${id}`,
        title: guide === heading ? guide : `${guide}: ${heading}`,
        excerpt: excerptOf(text, terms),
      }))
  }
}

function excerptOf(text: string, terms: readonly string[]): string {
  const parts = text.split(' ')
  const first = parts.findIndex(part => terms.some(term => part.toLowerCase().includes(term)))
  const start = Math.max(0, first - 8)
  const end = start + 36
  return [...(start > 0 ? ['…'] : []), ...parts.slice(start, end), ...(end < parts.length ? ['…'] : [])].join(' ')
}
