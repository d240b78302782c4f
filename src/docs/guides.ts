import { readFile } from 'node:fs/promises'

/** A guide: a Markdown file of `docs/guides` with the same name, or a file that `docs/render/markdown.ts` names. */
export interface Guide {
  /** The name of the guide in its address, and of its file. */
  slug: string
  /** The same as the heading of the file. */
  title: string
  /** A sentence about the guide, for the overview. */
  summary: string
}

/** The guides in the order in which they are read. */
export const guides: readonly Guide[] = [
  {
    slug: 'quick-start',
    title: 'Quick start',
    summary: 'From a token to the first vouchers, in curl, TypeScript, Python or PHP.',
  },
  {
    slug: 'authentication',
    title: 'Authentication and permissions',
    summary: 'The bearer token, the tenants that it reaches, and the permission of each operation.',
  },
  {
    slug: 'paging',
    title: 'Paging',
    summary: 'Read a list page by page: the cursor, the order and the filter by time.',
  },
  {
    slug: 'keeping-in-step',
    title: 'Keeping a copy in step',
    summary: 'Read only what changed, learn what was removed, and miss nothing.',
  },
  {
    slug: 'sync',
    title: 'The command sync',
    summary: 'Let a command keep the copy, in files, in SQLite or in PostgreSQL.',
  },
  {
    slug: 'events',
    title: 'Events',
    summary: 'Learn when a list has changed: choose between polling, sync, webhooks and the stream.',
  },
  {
    slug: 'bulk-export',
    title: 'Bulk export',
    summary: 'Read a whole list in one response, for the first copy or a full pass.',
  },
  {
    slug: 'resolving-a-voucher',
    title: 'Resolving a voucher',
    summary: 'Learn whether a voucher may be redeemed here, and what it is worth.',
  },
  {
    slug: 'redeeming',
    title: 'Redeeming a voucher',
    summary: 'For the platform: check the token of a resolution, and take the amount once.',
  },
  {
    slug: 'figures',
    title: 'Figures for dashboards',
    summary: 'Ask what was sold, what is outstanding and what expires, counted by the service.',
  },
  { slug: 'errors', title: 'Errors', summary: 'Every message that the service answers with, and what to do.' },
  { slug: 'rate-limits', title: 'Rate limits', summary: 'How requests are counted, and how to wait after status 429.' },
  {
    slug: 'versioning',
    title: 'Versioning and deprecation',
    summary: 'What can change within v1, what cannot, and how a version ends.',
  },
  {
    slug: 'fields',
    title: 'Fields of v1',
    summary: 'Every record of REST v1, with the type and the meaning of each field.',
  },
  {
    slug: 'graphql-types',
    title: 'Types of GraphQL',
    summary: 'Every type of the schema, with its fields, arguments and values.',
  },
  { slug: 'changelog', title: 'Changelog', summary: 'What has changed for those who use or run the service.' },
]

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
