/** Reads queries and bodies of version 1 into the variables of its documents. */
import { z } from 'zod'
import { maxLengths } from '../../domain/record/voucher-name.ts'
import { visibleCharacter } from '../../domain/trimmed.ts'
import { queryParameter, queryParameterValues } from '../../http/query-parameter.ts'
import type { InputSource } from '../operation.ts'

/**
 * The schemas have plain types, so that validators accept the same values as the service, even empty texts and `null`
 * (R4).
 */
const listParameters = {
  updated_since: z
    .string()
    .optional()
    .meta({
      description:
        'Only records updated at or after this instant. ISO-8601 with `Z` or an offset, to the microsecond; UTC without ' +
        'either. Send the `server_time` of an earlier response as you received it.',
    }),
  cursor: z.string().optional().meta({
    description:
      'The `next_cursor` of the page before, unchanged; empty at first. It carries `updated_since` on, and does not expire.',
  }),
}

const includable = ['categories', 'variants'] as const
const isIncludable = (word: string): word is (typeof includable)[number] => includable.some(name => name === word)

/** The input of an operation whose only variables are the ids in its path. */
export const noInput: InputSource<object> = { read: () => ({}) }

interface ListVariables {
  cursor: string | null
  updated_since: string | null
}

/** The input of a list, read from the query (R4, R5, R6, R10). */
export const listQuery: InputSource<ListVariables> = {
  query: z.object(listParameters),
  read: (request, fieldErrors) => ({
    cursor: queryParameter(request, 'cursor', fieldErrors),
    updated_since: queryParameter(request, 'updated_since', fieldErrors),
  }),
}

/** The input of the list of catalog vouchers, read from the query. */
export const catalogQuery: InputSource<ListVariables & Record<(typeof includable)[number], boolean>> = {
  query: z.object({
    ...listParameters,
    include: z
      .array(z.enum(includable))
      .optional()
      .meta({
        description:
          'Related resources to include in each record, separated by a comma, or the parameter once for each. Send it again ' +
          'with each `cursor`.',
      }),
  }),
  /** The parameter `include` may be given several times, repeat a value, and contain spaces (R5). */
  read(request, fieldErrors) {
    const variables = listQuery.read(request, fieldErrors)
    const wanted = queryParameterValues(request, 'include').flatMap(words => words.split(',').map(word => word.trim()))
    if (!wanted.every(isIncludable)) {
      fieldErrors.include = ['Name categories, variants or both, separated by a comma.']
    }
    const included = { categories: wanted.includes('categories'), variants: wanted.includes('variants') }
    return Object.assign(included, variables)
  },
}

const nameOfVoucher = (field: keyof typeof maxLengths, description: string) =>
  z.string().regex(visibleCharacter).max(maxLengths[field]).meta({ description })

/** The input of a resolution, read from the body (R9). */
export const resolveBody: InputSource<{ qr_token?: string | null; voucher_reference?: string | null }> = {
  body: z
    .union([
      z
        .object({
          voucher_reference: nameOfVoucher(
            'voucherReference',
            'The reference that is printed on the voucher, in any case.',
          ),
          qr_token: z.null().optional().meta({ description: 'Left out, or null.' }),
        })
        .meta({ title: 'By reference' }),
      z
        .object({
          qr_token: nameOfVoucher('qrToken', 'The QR token of the voucher, or the URL in its QR code.'),
          voucher_reference: z.null().optional().meta({ description: 'Left out, or null.' }),
        })
        .meta({ title: 'By QR token' }),
    ])
    .meta({ description: 'The name of the voucher: exactly one of the two fields. Unknown fields are ignored.' }),
  read(request, fieldErrors) {
    const body = parseObject(request.body)
    if (!body) fieldErrors.body = ['The body must be a JSON object.']
    const read = (name: string) => {
      const value = body?.[name] ?? null
      if (value !== null && typeof value !== 'string') fieldErrors[name] = ['This must be a string.']
      return typeof value === 'string' ? value : null
    }
    return { qr_token: read('qr_token'), voucher_reference: read('voucher_reference') }
  },
}

function parseObject(text: unknown): Record<string, unknown> | null {
  if (typeof text !== 'string') return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}
