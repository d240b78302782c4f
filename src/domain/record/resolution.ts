import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from '../../db/sql.ts'
import { badInput, GatewayError, notFound } from '../errors.ts'
import type { Token } from '../token/token.ts'
import type { IssueRedemptionToken } from './redemption-token.ts'
import {
  type FoundVoucher,
  findBy,
  type ResolutionFields,
  type ResolutionTenant,
  type VoucherLookup,
} from './voucher-lookup.ts'
import type { VoucherName } from './voucher-name.ts'
import { type ReasonCode, reasonAgainstRedemption } from './voucher-status.ts'

/** The decision whether a voucher can be redeemed, and the reason against it. */
interface Verdict {
  status: 'redeemable' | 'not_redeemable'
  /** Null when redeemable. */
  reasonCode: ReasonCode | null
}

export type ResolvedVoucher = ResolutionFields & Verdict

export interface Resolution extends Verdict {
  voucher: ResolvedVoucher
  tenant: ResolutionTenant
  /** The value is null when the voucher is not redeemable. */
  redemptionToken: string | null
}

/**
 * Resolves a voucher ahead of its redemption (contract, operation 8). Writes nothing.
 *
 * @param group requests with the same group share the statements
 * @param at the path tenant, for which the caller's token is authorised
 * @param issue issues the redemption token
 * @throws `NOT_FOUND` when there is no such voucher within the scope of the token at the path tenant (R24);
 *   `BAD_USER_INPUT` when several match equally (R33), or v1 cannot show it as it is now (R35); `UNAVAILABLE` when
 *   changes wait too long (R35)
 */
export async function resolveVoucher(
  sql: Sql,
  group: object,
  caller: Token,
  at: number,
  { field, texts }: VoucherName,
  issue: IssueRedemptionToken,
): Promise<Resolution> {
  const found = await findPresent(async seen => {
    let lookup: VoucherLookup = { found: null, missing: null }
    for (const text of texts) {
      // PostgreSQL cannot store U+0000, and its protocol rejects it.
      if (text.includes('\0')) continue
      lookup = await findBy[field](group, sql, { text, at, tokenId: caller.id, seen })
      if (lookup.found || lookup.missing) break
    }
    return lookup
  })
  if (!found) throw notFound('voucher')
  const { voucher, tenant, isFaulty, isAmbiguous } = found
  if (isAmbiguous) throw badInput({ [field]: [ambiguous[field]] })
  if (isFaulty) throw badInput({ [field]: [invalidVoucherMessage] })
  const reasonCode = reasonAgainstRedemption(voucher, voucher.today)
  const verdict: Verdict = { status: reasonCode === null ? 'redeemable' : 'not_redeemable', reasonCode }
  const redemptionToken =
    reasonCode === null
      ? issue({
          ...{ sourceKey: voucher.sourceKey, voucherId: voucher.id, ownerId: tenant.sourceTenantId },
          ...{ tenantId: at, tokenId: caller.id, issuedAt: voucher.readAt },
        })
      : null
  // The row belongs to this request, and decodes a column when it is read. A copy would decode all columns.
  return { ...verdict, voucher: Object.assign(voucher, verdict), tenant, redemptionToken }
}

/** The maximum wait for a step and the interval of lookups, in milliseconds, and the maximum number of waiting requests. */
const [maxWaitMs, pauseMs, maxWaiting] = [1000, 25, 100]
let waiting = 0

/**
 * Searches for a voucher, and repeats the search until steps have written all changes that the first search shows
 * (R35).
 *
 * @param look searches the records, with the snapshot of the first search. Fails when the caller is gone
 * @throws `UNAVAILABLE` when steps take too long
 */
async function findPresent(look: (seen: string | null) => Promise<VoucherLookup>): Promise<FoundVoucher | null> {
  let { found, missing } = await look(null)
  if (missing === null) return found
  if (waiting >= maxWaiting) throw changesWait()
  const until = performance.now() + maxWaitMs
  waiting++
  try {
    while (missing !== null) {
      if (performance.now() > until) throw changesWait()
      await pause(pauseMs)
      ;({ found, missing } = await look(missing))
    }
    return found
  } finally {
    waiting--
  }
}

const changesWait = () =>
  new GatewayError('UNAVAILABLE', 'Changes of vouchers or tenants are not read yet. Try again in a moment.', {
    retryAfter: 2,
  })

const ambiguous = {
  voucherReference:
    'Several vouchers have this reference. Resolve it at the tenant of the voucher, or by its QR token.',
  qrToken: 'Several vouchers have this QR token. Resolve it at the tenant of the voucher, or by its reference.',
}
const invalidVoucherMessage = 'The data of this voucher are not valid now. Ask the platform to correct them.'
