import { readFile } from 'node:fs/promises'

/**
 * A guide. Its text is the file of `docs/guides` that has the slug as its name, or a file that
 * `docs/render/markdown.ts` names.
 */
export interface Guide {
  /** The name of the guide in its address, and of its file. */
  slug: string
  /** The title of the guide, equal to the heading of its file. */
  title: string
  /** A sentence about the guide, which the overview shows. */
  summary: string
}

const guideTexts: readonly (readonly [slug: string, title: string, summary: string])[] = [
  ['quick-start', 'Quick start', 'From a token to the first vouchers, in curl, TypeScript, Python or PHP.'],
  [
    'authentication',
    'Authentication and permissions',
    'The bearer token, the tenants that it reaches, and the permission of each operation.',
  ],
  ['paging', 'Paging', 'Read a list page by page: the cursor, the order and the filter by time.'],
  ['keeping-in-step', 'Keeping a copy in step', 'Read only what changed, learn what was removed, and miss nothing.'],
  ['sync', 'The command sync', 'Let a command keep the copy, in files, in SQLite or in PostgreSQL.'],
  ['events', 'Events', 'Learn when a list has changed: choose between polling, sync, webhooks and the stream.'],
  ['bulk-export', 'Bulk export', 'Read a whole list in one response, for the first copy or a full pass.'],
  ['resolving-a-voucher', 'Resolving a voucher', 'Learn whether a voucher may be redeemed here, and what it is worth.'],
  ['redeeming', 'Redeeming a voucher', 'For the platform: check the token of a resolution, and take the amount once.'],
  [
    'figures',
    'Figures for dashboards',
    'Ask what was sold, what is outstanding and what expires, counted by the service.',
  ],
  ['errors', 'Errors', 'Every message that the service answers with, and what to do.'],
  ['rate-limits', 'Rate limits', 'How requests are counted, and how to wait after status 429.'],
  ['versioning', 'Versioning and deprecation', 'What can change within v1, what cannot, and how a version ends.'],
  ['fields', 'Fields of v1', 'Every record of REST v1, with the type and the meaning of each field.'],
  ['graphql-types', 'Types of GraphQL', 'Every type of the schema, with its fields, arguments and values.'],
  ['changelog', 'Changelog', 'What has changed for those who use or run the service.'],
]

/** The guides in the order in which the overview lists them. */
export const guides: readonly Guide[] = guideTexts.map(([slug, title, summary]) => ({ slug, title, summary }))

/** The placeholder in the guides for the address of the service. */
export const originPlaceholder = 'https://gateway.example.com'

/** An entry of the table of contents. */
export interface Heading {
  id: string
  text: string
}

export interface RenderedGuide {
  html: string
  headings: Heading[]
}

/** Returns the guides, which the build renders (`docs/render`), by slug. */
export const readRenderedGuides = async (): Promise<Record<string, RenderedGuide>> =>
  JSON.parse(await readFile(new URL('../../dist/docs/guides.json', import.meta.url), 'utf8'))
