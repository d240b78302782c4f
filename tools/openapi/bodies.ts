/** Bodies that no GraphQL document describes: errors, and the lines of a bulk export. */
import { z } from 'zod'

const instant = (description: string) => z.iso.datetime({ precision: 6 }).meta({ description })

/** Schemas of the document, by name. */
export const bodySchemas = {
  MessageError: z
    .object({ message: z.string().meta({ description: 'What is wrong, as a sentence for a person.' }) })
    .meta({ description: 'An error.' }),

  ValidationError: z
    .object({
      message: z.string().meta({ description: 'A sentence for a person.' }),
      errors: z.record(z.string(), z.array(z.string()).min(1)).meta({
        description:
          'What is wrong with each field, as sentences for a person. A field is a query parameter, a header in lower ' +
          'case, a field of the body, or `body`.',
      }),
    })
    .meta({ description: 'A request that is not valid, with the errors of each field.' }),

  ExportStart: z
    .object({
      server_time: instant(
        'This stream has all changes that were published up to this instant, and no later ones. Continue with it as `updated_since`.',
      ),
    })
    .meta({ description: 'The first line of an export.' }),

  ExportCursor: z
    .object({
      cursor: z.string().meta({
        description: 'The position after the records so far. An export that breaks off continues here.',
      }),
    })
    .meta({ description: 'The line after each chunk of records.' }),

  ExportEnd: z
    .object({
      end: z.literal(true).meta({ description: 'The export is whole. A stream without this line broke off.' }),
      count: z.int().min(0).meta({ description: 'The number of records in this stream.' }),
    })
    .meta({ description: 'The last line of an export.' }),
}
