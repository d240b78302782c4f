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

/** The decision whether a voucher can be redeemed; when it cannot, also the reason. */
interface Verdict {
  status: 'redeemable' | 'not_redeemable'
  /** Null when redeemable. */
  reasonCode: ReasonCode | null
}

export type ResolvedVoucher = ResolutionFields & Verdict

export interface Resolution extends Verdict {
  voucher: ResolvedVoucher
  tenant: ResolutionTenant
  /** The redemption token; null when the voucher cannot be redeemed. */
  redemptionToken: string | null
}

/**
 * Resolves a voucher: finds it, decides whether it can be redeemed, and issues a redemption token (contract, operation
 * 8). Writes nothing.
 *
 * @param group requests with the same group share the statements
 * @param at the id of the path tenant, for which the caller's token must be authorised
 * @param issue issues the redemption token
 * @throws `NOT_FOUND` when there is no such voucher within the scope of the token at the path tenant (R24);
 * `BAD_USER_INPUT` when several vouchers match equally (R33), or when v1 cannot represent the current values of the
 * voucher (R35); `UNAVAILABLE` when changes wait too long for a step (R35)
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
      // A text with U+0000 matches no voucher, because PostgreSQL cannot store U+0000, and would reject the statement.
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
  // Changes the row itself, which belongs only to this request, because a copy would decode all columns.
  return { ...verdict, voucher: Object.assign(voucher, verdict), tenant, redemptionToken }
}

/**
 * The maximum wait for a step, in milliseconds; the pause between lookups, in milliseconds; the maximum number of
 * waiting requests.
 */
const [maxWaitMs, pauseMs, maxWaiting] = [1000, 25, 100]
let waiting = 0

/**
 * Searches for a voucher. Repeats the search until steps have written all changes that were committed before the first
 * search (R35).
 *
 * @param look searches the records; its argument is the snapshot of the first search, or null. Throws when the caller
 * is gone
 * @throws `UNAVAILABLE` when steps take too long
 */
async function findPresent(look: (seen: string | null) => Promise<VoucherLookup>): Promise<FoundVoucher | null> {
  let { found, missing } = await look(null)
  if (missing === null) return found
  if (waiting >= maxWaiting) throw changesWaitError()
  const until = performance.now() + maxWaitMs
  waiting++
  try {
    while (missing !== null) {
      if (performance.now() > until) throw changesWaitError()
      await pause(pauseMs)
      ;({ found, missing } = await look(missing))
    }
    return found
  } finally {
    waiting--
  }
}

const changesWaitError = () =>
  new GatewayError('UNAVAILABLE', 'Changes of vouchers or tenants are not read yet. Try again in a moment.', {
    retryAfter: 2,
  })

const ambiguous = {
  voucherReference:
    'Several vouchers have this reference. Resolve it at the tenant of the voucher, or by its QR token.',
  qrToken: 'Several vouchers have this QR token. Resolve it at the tenant of the voucher, or by its reference.',
}
const invalidVoucherMessage = 'The data of this voucher are not valid now. Ask the platform to correct them.'
