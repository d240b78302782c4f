import type { Example, MediaType } from './openapi.ts'

/** An answer of the service to a request over the demo data. */
export interface RecordedAnswer {
  /** The id of the operation. */
  operation: string
  summary: string
  request: {
    path?: Readonly<Record<string, number>>
    query?: Readonly<Record<string, string>>
    body?: unknown
  }
  status: number
  /** The body; for an export, a list of its lines. */
  body: unknown
}

/** Returns the examples of a body, by names made from their summaries; undefined without examples. */
export function toExamples(answers: readonly { summary: string; value: unknown }[]): Pick<MediaType, 'examples'> {
  if (answers.length === 0) return {}
  const examples: Record<string, Example> = {}
  for (const { summary, value } of answers) examples[nameOf(summary)] = { summary, value }
  return { examples }
}

/** `The cursor is invalid` becomes `theCursorIsInvalid`. */
const nameOf = (summary: string) =>
  summary
    .replace(/[^\w ]/g, '')
    .replace(/ +(\w)/g, (_, letter: string) => letter.toUpperCase())
    .replace(/^./, letter => letter.toLowerCase())
