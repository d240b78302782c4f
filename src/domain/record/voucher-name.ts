import { type FieldErrors, hasErrors, throwIfErrors } from '../errors.ts'
import { trimInvisible, visibleCharacter } from '../trimmed.ts'

/**
 * The name by which a caller searches for a voucher: a reference, or the candidates for a QR token. The first candidate
 * with a voucher counts.
 */
export interface VoucherName {
  /** The field of the input, under which errors are reported. */
  field: keyof typeof maxLengths
  texts: readonly string[]
}

/** The maximum length of each input, in characters (R9). */
export const maxLengths = { qrToken: 2048, voucherReference: 255 }

/**
 * Parses the input that names a voucher (R9, R27).
 *
 * @param transportErrors errors that the transport found
 * @throws `BAD_USER_INPUT` with the errors of `qrToken` and `voucherReference`
 */
export function readVoucherName(
  given: { qrToken?: string | null | undefined; voucherReference?: string | null | undefined },
  transportErrors: FieldErrors = {},
): VoucherName {
  const fieldErrors: FieldErrors = { ...transportErrors }
  const read = (field: keyof typeof maxLengths) => {
    const text = given[field] ?? ''
    if ([...text].length > maxLengths[field]) fieldErrors[field] = [`Give at most ${maxLengths[field]} characters.`]
    return trimInvisible(text) || null
  }
  const qrToken = read('qrToken')
  const voucherReference = read('voucherReference')
  if (!hasErrors(fieldErrors) && (qrToken === null) === (voucherReference === null)) {
    const error =
      qrToken === null ? 'Give a QR token or URL, or a voucher reference.' : 'Give one of the two, not both.'
    fieldErrors.qrToken = [error]
    fieldErrors.voucherReference = [error]
  }
  throwIfErrors(fieldErrors)
  return qrToken === null
    ? { field: 'voucherReference', texts: [voucherReference ?? ''] }
    : { field: 'qrToken', texts: [...new Set(qrTokensIn(qrToken))] }
}

/**
 * Returns the candidates for the QR token in a scanned text: the text itself, or parts of the URL that the text is
 * (R27).
 */
function qrTokensIn(text: string): string[] {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return [text]
  const url = new URL(text)
  // `searchParams` decodes an unencoded `+`, for example of Base64, to a space, so the text with `+` is a candidate
  // too.
  const withPlus = new URLSearchParams(url.search.replaceAll('+', '%2B'))
  for (const name of ['qr_token', 'token', 'qr', 't', 'code']) {
    const value = url.searchParams.get(name) ?? ''
    if (visibleCharacter.test(value)) return [value, withPlus.get(name) ?? value]
  }
  const segments = url.pathname.split('/').map(decodeSegment)
  return [segments.findLast(part => visibleCharacter.test(part)) ?? text]
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
