/** Makes the operations of the bulk export from its route table: each streams the records of a list of v1. */
import { z } from 'zod'
import { type BulkExport, bulkExports } from '../../src/export/routes.ts'
import { lineFormat } from '../../src/http/headers.ts'
import { bodySchemas } from './bodies.ts'
import { errorReferences } from './error-responses.ts'
import { type RecordedAnswer, toExamples } from './examples.ts'
import { always, describeHeaders, rateLimitHeaders } from './headers.ts'
import { type JsonSchema, schemaRef } from './json-schema.ts'
import { bearerScheme, type DocumentParts, idOf, toTemplate, toWords } from './operations.ts'
import { describePath, describeQuery, permissionSentence, requestIdParameter } from './parameters.ts'

/** The tag of the bulk export. */
const exportTag = 'Bulk export'

const exportQuery = z.object({
  cursor: z.string().optional().meta({
    description:
      'The `cursor` of the last such line that you received: continues an export that broke off. Empty for a new export.',
  }),
})

const streamText =
  'A stream of lines, each a JSON object. The first is `{"server_time": "…"}`, the instant up to which it has all published changes; ' +
  'then come records, exactly as the list of v1 gives them, and after each chunk of them `{"cursor": "…"}`; the last ' +
  'is `{"end": true, "count": n}`. Read the list of v1 with `updated_since` set to `server_time` to complete it.\n\n' +
  'A stream that ends without its last line broke off: continue with the last `cursor`. A token may have one export ' +
  'at a time and start ten an hour; beyond that the status is 429, with `Retry-After`. An export costs one operation ' +
  'of the rate limit. `Accept` may be left out; otherwise it must admit `application/x-ndjson` or `application/json`.'

/**
 * Returns the schema name of an export's records. The export has the name of the list in v1, except for the first word.
 *
 * @param schemas the schemas of v1
 */
function recordOf({ name }: BulkExport, schemas: Readonly<Record<string, JsonSchema>>): string {
  const record = name.replace(/^Export/, '').replace(/s$/, '')
  if (!schemas[record]) throw new Error(`v1 has no records ${record}, which ${name} would export.`)
  return record
}

/** Adds the operations of the bulk export to the paths, and the schemas of their lines to the schemas of v1. */
export function addExports(
  { paths, schemas, tags }: DocumentParts,
  base: string,
  answers: readonly RecordedAnswer[],
): void {
  tags.push({
    name: exportTag,
    description: 'Whole lists as one stream: the first pass of a copy, which v1 then keeps in step.',
  })
  for (const bulkExport of bulkExports) {
    const { path, permissions, returns } = bulkExport
    const operationId = idOf(bulkExport)
    const good = answers.filter(({ operation, status }) => operation === operationId && status === 200)
    const record = recordOf(bulkExport, schemas)
    const line = `${record}ExportLine`
    const lines = [...Object.keys(bodySchemas).filter(body => body.startsWith('Export')), record]
    schemas[line] = { description: `A line of an export of ${record} records.`, anyOf: lines.map(schemaRef) }
    const parameters = describePath(path, good[0])
    paths[base + toTemplate(path)] = {
      ...(parameters.length > 0 && { parameters }),
      get: {
        operationId,
        tags: [exportTag],
        summary: toWords(bulkExport.name),
        description: [returns, streamText, permissionSentence(permissions)].join('\n\n'),
        security: [{ [bearerScheme]: [...permissions] }],
        parameters: [...describeQuery(exportQuery, good), requestIdParameter],
        responses: {
          200: {
            description: 'The lines of the export. The schema describes one line.',
            headers: describeHeaders([...always, ...rateLimitHeaders, 'Vary', 'Content-Encoding']),
            content: {
              [lineFormat]: {
                schema: schemaRef(line),
                ...toExamples(good.flatMap(({ body }) => lineExamples(body))),
              },
            },
          },
          ...errorReferences(false),
        },
      },
    }
  }
}

/** Returns one line of each kind of a recorded export: the first line, a record, a cursor and the last line. */
function lineExamples(lines: unknown): { summary: string; value: unknown }[] {
  if (!Array.isArray(lines)) throw new Error('The body of a recorded export is a list of its lines.')
  const [start, record]: unknown[] = lines
  const [cursor, end]: unknown[] = lines.slice(-2)
  return [
    { summary: 'The first line', value: start },
    { summary: 'A record', value: record },
    { summary: 'After each chunk', value: cursor },
    { summary: 'The last line', value: end },
  ]
}
