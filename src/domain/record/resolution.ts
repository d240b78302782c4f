import { column, nullable, type RowOf } from '../../db/column.ts'
import { rowCodec } from '../../db/row-codec.ts'
import { shareStatements } from '../../db/shared-statement.ts'
import { arrayText, onPrimary, type Sql } from '../../db/sql.ts'
import { badInput, notFound } from '../errors.ts'
import type { TenantPath } from '../token/scope.ts'
import type { Token } from '../token/token.ts'
import { issueRedemptionToken } from './redemption-token.ts'
import type { VoucherName } from './voucher-name.ts'

/** The reasons why a voucher cannot be redeemed. The first that applies is reported (R25). */
export type ReasonCode = 'void' | 'not_yet_valid' | 'expired' | 'redeemed' | 'no_balance'

/** The decision whether a voucher can be redeemed, and the reason against it. */
interface Verdict {
  status: 'redeemable' | 'not_redeemable'
  /** Null when redeemable. */
  reasonCode: ReasonCode | null
}

export const resolvedColumns = {
  id: column('voucher.id', 'bigint', 'The numeric id, as in v1.'),
  reference: column('voucher.reference', 'text', 'The reference that is printed on it.'),
  currentBalance: nullable('current_balance', 'decimal', 'The balance that is left.'),
  initialBalance: nullable('initial_balance', 'decimal', 'The balance when it was purchased.'),
  currency: nullable('currency', 'text', 'The ISO 4217 code of its amounts.'),
  isMonetary: column('is_monetary', 'boolean', 'True when its value is an amount of money.'),
  allowPartRedeem: column('allow_part_redeem', 'boolean', 'True when it can be redeemed in parts.'),
  productTitle: nullable('product_title', 'text', 'The title of the product at the time of purchase.'),
  recipientName: nullable('recipient_name', 'text', 'The name of the recipient.'),
  customerName: nullable('customer_name', 'text', 'The name of the customer who purchased it.'),
  redemptionStatus: nullable('redemption_status', 'text', 'The state of its redemption.'),
  void: column('void', 'boolean', 'True when it was voided.'),
  dateValidStart: nullable('date_valid_start', 'date', 'The first day on which it is valid.'),
  dateValidEnd: nullable('date_valid_end', 'date', 'The last day on which it is valid.'),
  // Without a description, because it is no field: the calendar day at the tenant that owns the voucher.
  today: column('(now() at time zone gateway.time_zone(owner.time_zone))::date', 'date'),
}

/** The columns of the tenant at which a voucher was resolved, and of the one that owns the voucher (R24). */
export const resolutionTenantColumns = {
  id: column('tenant.id', 'bigint', 'The numeric id of the tenant at which it was resolved.'),
  name: column('tenant.name', 'text', 'The name of the tenant at which it was resolved.'),
  type: nullable('tenant.type', 'text', 'The type of that tenant.'),
  sourceTenantId: column('owner.id', 'bigint', 'The numeric id of the tenant that owns the voucher.'),
  sourceTenantName: column('owner.name', 'text', 'The name of the owner.'),
  sourceTenantType: nullable('owner.type', 'text', 'The type of the owner.'),
}

/** The state of a voucher that a resolution depends on. */
type VoucherState = RowOf<typeof resolvedColumns>

/** The columns that decide whether a voucher can be redeemed. */
export type Redeemability = Pick<
  VoucherState,
  'void' | 'dateValidStart' | 'dateValidEnd' | 'redemptionStatus' | 'currentBalance'
>

export type ResolvedVoucher = VoucherState & Verdict

/** The tenant at which a voucher was resolved, and the one that owns the voucher (R24). */
export type ResolutionTenant = RowOf<typeof resolutionTenantColumns>

export interface Resolution extends Verdict {
  voucher: ResolvedVoucher
  tenant: ResolutionTenant
  /** Shown this once; null when not redeemable. */
  redemptionToken: string | null
}

/**
 * Returns the reason why the voucher cannot be redeemed on a day, or null when it can be (R25).
 *
 * @param today the calendar day at the tenant that owns the voucher, `YYYY-MM-DD`
 */
export function reasonAgainst(voucher: Redeemability, today: string): ReasonCode | null {
  if (voucher.void) return 'void'
  if (voucher.dateValidStart !== null && today < voucher.dateValidStart) return 'not_yet_valid'
  if (voucher.dateValidEnd !== null && today > voucher.dateValidEnd) return 'expired'
  if (voucher.redemptionStatus?.toLowerCase() === 'redeemed') return 'redeemed'
  if (voucher.currentBalance !== null && voucher.currentBalance <= 0) return 'no_balance'
  return null
}

/**
 * Resolves a voucher ahead of its redemption (contract, operation 8). Writes only the redemption token.
 *
 * @param group requests with the same one share the statements
 * @param at the path tenant, for which the caller's token is authorised
 * @param placePath the path of that tenant, which may be cached
 * @param timeToLive seconds until the redemption token expires
 * @throws `NOT_FOUND` when there is no such voucher within the scope of the token at the path tenant (R24); `BAD_USER_INPUT`
 *   when several match equally (R33), or v1 cannot show it as it is now (R35)
 */
export async function resolveVoucher(
  sql: Sql,
  group: object,
  caller: Token,
  at: number,
  placePath: TenantPath,
  { field, texts }: VoucherName,
  timeToLive: number,
): Promise<Resolution> {
  let found: Found | null = null
  for (const text of texts) {
    // PostgreSQL cannot store U+0000, and its protocol rejects it.
    if (!text.includes('\0')) found ??= await findBy[field](group, sql, { text, at, placePath, tokenId: caller.id })
  }
  if (!found) throw notFound('voucher')
  const { voucher, tenant, isFaulty, isAmbiguous } = found
  if (isAmbiguous) throw badInput({ [field]: [ambiguous] })
  if (isFaulty) throw badInput({ [field]: [faulty] })
  const reasonCode = reasonAgainst(voucher, voucher.today)
  const verdict: Verdict = { status: reasonCode === null ? 'redeemable' : 'not_redeemable', reasonCode }
  const redemptionToken =
    reasonCode === null ? await issueRedemptionToken(sql, group, voucher.id, at, caller.id, timeToLive) : null
  // The row is this request's own, and decodes a column when it is read: a copy would decode all of them.
  return { ...verdict, voucher: Object.assign(voucher, verdict), tenant, redemptionToken }
}

/** A voucher that a request looks for, by a text that names it. */
interface Wanted {
  text: string
  at: number
  placePath: TenantPath
  tokenId: number
}

/** A voucher that was found, and the tenants of its resolution. */
interface Found {
  voucher: VoucherState
  tenant: ResolutionTenant
  /** True when v1 cannot show the voucher as its source has it (R35). */
  isFaulty: boolean
  /** True when another voucher matches as well (R33). */
  isAmbiguous: boolean
}

const voucherRow = rowCodec<VoucherState>(resolvedColumns)
const tenantRow = rowCodec<ResolutionTenant>(resolutionTenantColumns)

const ambiguous =
  'Several tenants below this one have a voucher of this name. Resolve it at the tenant that owns the voucher.'
const faulty = 'The data of this voucher are not valid now. Ask the platform to correct them.'

/** Finds a voucher by each of its names, as the indexes have them (`sql/0003`). */
const findBy = {
  voucherReference: findByCondition(
    name => `gateway.folded(gateway.trimmed(${name})) collate "C"`,
    'reference',
    '(reference = wanted.text or gateway.trimmed(reference) = gateway.trimmed(wanted.text))',
  ),
  qrToken: findByCondition(name => `gateway.trimmed(${name}) collate "C"`, 'qr_token', 'true'),
}

/**
 * Returns a function that finds a voucher when its owner is the path tenant, above it or below it, and the token is authorised
 * for the owner (R21, R24). The records lead to its key; the voucher is then read from its source, as it is now (R35).
 *
 * The statement takes as long for a voucher out of scope as for an absent one: for both, it reads one path and the grants, and
 * looks for the source of no voucher. `offset 0` makes it read the grants also when the other condition does not hold.
 * Values, because PostgreSQL takes 200 µs more for `unnest`.
 *
 * @param nameOf returns the expression that is compared, of a column or of the given text
 * @param isExact the condition that the same case matches
 */
function findByCondition(nameOf: (text: string) => string, column: string, isExact: string) {
  const condition = `${nameOf(column)} = ${nameOf('wanted.text')}`
  return shareStatements<Wanted, Found | null>(async (sql, wanted) => {
    const rows = await sql`
      select /* resolution.find */ place, found.*, dense_rank() over (partition by place order by distance, not is_exact)
      from (
        select place::integer, text, at::bigint, place_path::bigint[], token_id::bigint from (
          values ${sql(wanted.map(({ text, at, placePath, tokenId }, place) => [place, text, at, arrayText(placePath), tokenId]))}
        ) as given(place, text, at, place_path, token_id)
      ) as wanted
      left join lateral (
        select id, tenant_id, ${sql.unsafe(column)} as name from gateway.voucher where ${sql.unsafe(condition)}
      ) record on true
      cross join lateral (
        select owner_id, (select path from gateway.tenant_path where tenant_path.tenant_id = owner_id) as path
        from coalesce(record.tenant_id, wanted.at) as owner_id offset 0
      ) owner_path
      cross join lateral (
        select exists (select from gateway.token_tenant
                       where token_tenant.token_id = wanted.token_id and token_tenant.tenant_id = any(path)
                         and (with_descendants or token_tenant.tenant_id = owner_id)) as is_granted,
               (wanted.at = any(path) or owner_id = any(place_path)) and ${onPrimary(sql)} as is_related
        offset 0
      ) scope
      join lateral (
        select ${voucherRow.select(sql)} as voucher, ${tenantRow.select(sql)} as tenant, voucher.error is not null as is_faulty,
               coalesce(array_position(place_path, owner.id), cardinality(place_path) + 1) as distance,
               ${sql.unsafe(isExact)} as is_exact
        from (select (voucher).*, customer_name, error
              from gateway.read_present_voucher(case when is_granted and is_related then record.id end)) voucher
        join gateway.tenant owner on owner.id = voucher.tenant_id join gateway.tenant on tenant.id = wanted.at
        where voucher.tenant_id = record.tenant_id and (${sql.unsafe(column)} = record.name or ${sql.unsafe(condition)})
      ) found on true
      order by place, dense_rank`.raw()
    const all: (Found | null)[] = wanted.map(() => null)
    for (const [place, found, tenants, isFaulty, , , rank] of rows) {
      if (String(rank) !== '1') continue
      const former = all[Number(place)]
      const [voucher] = voucherRow.read(found)
      const [tenant] = tenantRow.read(tenants)
      if (former) former.isAmbiguous = true
      else if (voucher && tenant)
        all[Number(place)] = { voucher, tenant, isFaulty: String(isFaulty) === 't', isAmbiguous: false }
    }
    return all
  })
}
