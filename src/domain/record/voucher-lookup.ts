/**
 * Finds a voucher by its reference or QR token, and reads the current state of the voucher from the platform's tables.
 */
import { column, nullable, type RowOf } from '../../db/row/column.ts'
import { createRowCodec } from '../../db/row/row-codec.ts'
import { onPrimary, type Sql } from '../../db/sql.ts'
import { shareStatements } from '../../db/statement/shared-statement.ts'

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
  // The calendar day at the tenant that owns the voucher. The column has no description, because it is no field of the
  // schema.
  today: column('(now() at time zone gateway.time_zone(owner.time_zone))::date', 'date'),
  /** Seconds of the epoch. */
  readAt: column('floor(extract(epoch from now()))::bigint', 'bigint'),
  // The key in the platform's tables (`gateway.keys_of`). An id below this number equals the key.
  sourceKey: column(
    `case when voucher.id >= 9000000000000000
       then coalesce((select key from gateway.identity where kind = 'voucher' and identity.id = voucher.id), voucher.id::text)
       else voucher.id::text end`,
    'text',
  ),
}

/** The columns of the tenant at which a voucher was resolved, and of the tenant that owns the voucher (R24). */
export const resolutionTenantColumns = {
  id: column('tenant.id', 'bigint', 'The numeric id of the tenant at which it was resolved.'),
  name: column('tenant.name', 'text', 'The name of the tenant at which it was resolved.'),
  type: nullable('tenant.type', 'text', 'The type of that tenant.'),
  sourceTenantId: column('owner.id', 'bigint', 'The numeric id of the tenant that owns the voucher.'),
  sourceTenantName: column('owner.name', 'text', 'The name of the owner.'),
  sourceTenantType: nullable('owner.type', 'text', 'The type of the owner.'),
}

/** The columns of a voucher on which a resolution depends. */
export type ResolutionFields = RowOf<typeof resolvedColumns>

/** The tenant at which a voucher was resolved, and the tenant that owns the voucher (R24). */
export type ResolutionTenant = RowOf<typeof resolutionTenantColumns>

/** A search for a voucher: the name that the caller gave, the tenant and the token of the request. */
interface WantedVoucher {
  text: string
  at: number
  tokenId: number
  /**
   * The snapshot of the first search: the records must include all changes that this snapshot shows. Null in the first
   * search.
   */
  seen: string | null
}

/** A voucher that was found, and the tenants of its resolution. */
export interface FoundVoucher {
  voucher: ResolutionFields
  tenant: ResolutionTenant
  /** True when v1 cannot represent the voucher's values (R35). */
  isFaulty: boolean
  /** True when another voucher matches equally (R33). */
  isAmbiguous: boolean
}

/** The result of one search of the records. */
export interface VoucherLookup {
  found: FoundVoucher | null
  /**
   * The snapshot of the first search, as long as steps have not written all changes of the snapshot that may change the
   * result; then null.
   */
  missing: string | null
}

const voucherRow = createRowCodec<ResolutionFields>(resolvedColumns)
const tenantRow = createRowCodec<ResolutionTenant>(resolutionTenantColumns)

/** A column by which vouchers are found. The SQL conditions compare the column with `text`. */
interface NameColumn {
  column: string
  /** Returns the indexed SQL expression of a column or a text. */
  indexed: (text: string) => string
  /** The SQL condition that the current voucher of the platform matches. */
  isMatch: string
  /**
   * The searches of `findCrowded`, in order of precedence. Each is a range of the index at one owner, and the condition
   * that the current voucher of the platform matches.
   */
  ranges: [range: string, isMatch: string][]
}

const isExact = (column: string) => `(${column} = text or gateway.trimmed(${column}) = gateway.trimmed(text))`

/** `between` and not `=`, because with `=` a plan may read the whole list of the tenant. */
const ownerCondition = 'tenant_id between owner_id and owner_id'

/** The functions that find a voucher by its reference and by its QR token. */
export const findBy = {
  voucherReference: findByName({
    column: 'reference',
    indexed: text => `gateway.folded(gateway.trimmed(${text})) collate "C"`,
    isMatch: `(reference = stored
      or gateway.folded(gateway.trimmed(reference)) collate "C" = gateway.folded(gateway.trimmed(text)) collate "C")`,
    ranges: [
      [
        '(tenant_id, gateway.trimmed(reference) collate "C") between (owner_id, exact) and (owner_id, exact)',
        isExact('reference'),
      ],
      [ownerCondition, 'gateway.folded(gateway.trimmed(reference)) collate "C" = name'],
    ],
  }),
  qrToken: findByName({
    column: 'qr_token',
    indexed: text => `left(gateway.trimmed(${text}), 600) collate "C"`,
    isMatch: isExact('qr_token'),
    ranges: [[`${ownerCondition} and (octet_length(qr_token) < 600 or ${isExact('qr_token')})`, isExact('qr_token')]],
  }),
}

/**
 * Joins the current path of the tenant `at`, because a cached path may be half a second old. Also locks the records at
 * the start of the statement. Otherwise, during an upgrade that adds a field and so replaces
 * `gateway.read_present_voucher`, a call of this function would wait for the upgrade and then fail.
 */
const tenantPathJoin =
  'left join (select from gateway.voucher where false) locked on true cross join lateral (select (select path from gateway.tenant_path where tenant_id = at) as place_path offset 0) place'

/**
 * Adds to `wanted`, `tenantPathJoin` and an `owner_id`: the path of the owner, whether the token is authorised for the
 * owner, and whether the two tenants are related (R24). With `offset 0` the statement always reads the grants, so it
 * takes equally long for a voucher out of scope and for an absent voucher.
 */
const joinScope = (sql: Sql) => sql`
  cross join lateral (
    select (select path from gateway.tenant_path where tenant_id = owner_id) as path offset 0
  ) owner_path
  cross join lateral (
    select exists (select from gateway.token_tenant
                   where token_tenant.token_id = wanted.token_id and token_tenant.tenant_id = any(path)
                     and (with_descendants or token_tenant.tenant_id = owner_id)) as is_granted,
           (wanted.at = any(path) or owner_id = any(place_path)) and ${onPrimary(sql)} as is_related
    offset 0
  ) scope`

/** The maximum number of records with the same name that one lookup evaluates. */
const maxAtOnce = 8

/**
 * Returns a function that finds a voucher when its owner is the path tenant, above it or below it, and the token is
 * authorised for the owner (R21, R24). The records only give the keys; the current vouchers are read from the
 * platform's tables (R35). If several vouchers match, the voucher of the nearest tenant wins; at the same distance, a
 * voucher whose name has the same case (R33). The platform's tables are not read for a voucher out of scope.
 */
function findByName(name: NameColumn) {
  const { column, indexed, isMatch } = name
  return shareStatements<WantedVoucher, VoucherLookup>(async (sql, wanted) => {
    const key = sql.unsafe(indexed(column))
    // `values` and not `unnest`, which takes PostgreSQL 200 µs more. `order by` prevents a plan that reads all records
    // of a name.
    const rows = await sql`
      select /* resolution.find */ place, voucher, tenant, is_faulty, distance, is_exact,
             case when exists (select from gateway.changes_after(voucher is null, seen))
                  then coalesce(seen, pg_current_snapshot())::text end
      from (
        select place::integer, text, at::bigint, token_id::bigint, nullif(seen, '')::pg_snapshot as seen from (
          values ${sql(wanted.map(({ text, at, tokenId, seen }, place) => [place, text, at, tokenId, seen ?? '']))}
        ) as given(place, text, at, token_id, seen)
      ) as wanted ${sql.unsafe(tenantPathJoin)}
      left join lateral (
        select id, tenant_id, ${sql.unsafe(column)} as stored from gateway.voucher_entry
        where ${key} = ${sql.unsafe(indexed('text'))} order by ${key}, tenant_id limit ${sql.unsafe(String(maxAtOnce + 1))}
      ) record on true
      cross join lateral (select coalesce(record.tenant_id, wanted.at) as owner_id) owned ${joinScope(sql)}
      left join lateral (
        select ${voucherRow.select(sql)} as voucher, ${tenantRow.select(sql)} as tenant, error is not null as is_faulty,
               coalesce(array_position(place_path, owner.id), cardinality(place_path) + 1) as distance,
               ${sql.unsafe(isExact(column))} as is_exact
        from (select (voucher).*, customer_name, error
              from gateway.read_present_voucher(case when is_granted and is_related then record.id end)) voucher
        join gateway.tenant owner on owner.id = voucher.tenant_id join gateway.tenant on tenant.id = wanted.at
        where voucher.tenant_id = record.tenant_id and ${sql.unsafe(isMatch)}
      ) found on true
      order by place, distance, is_exact desc`.raw()
    const records: (typeof rows)[number][][] = wanted.map(() => [])
    for (const row of rows) records[Number(row[0])]?.push(row)
    return Promise.all(
      records.map(([first, second, ...others], place): VoucherLookup | Promise<VoucherLookup> => {
        const missing = first?.[6] ? String(first[6]) : null
        if (others.length + 2 > maxAtOnce)
          return findCrowded(sql, name, wanted[place]!).then(found => ({ found, missing }))
        const isAmbiguous = !!second && `${first?.slice(4, 6)}` === `${second.slice(4, 6)}`
        return { found: toFoundVoucher(first?.[1], first?.[2], String(first?.[3]) === 't', isAmbiguous), missing }
      }),
    )
  })
}

type Cell = Buffer | null | undefined

function toFoundVoucher(vouchers: Cell, tenants: Cell, isFaulty: boolean, isAmbiguous: boolean): FoundVoucher | null {
  const [voucher] = voucherRow.read(vouchers)
  const [tenant] = tenantRow.read(tenants)
  return voucher && tenant ? { voucher, tenant, isFaulty, isAmbiguous } : null
}

/**
 * The maximum number of vouchers with the same name for which the tenants are read. With more vouchers, the name is
 * looked up at each tenant of the scope.
 */
const maxNamed = 100

/**
 * Finds a voucher by the rules of `findByName` when very many vouchers have the same name. Looks at one distance after
 * the other, and reads at most two matches. The last entry of `related` has no tenant, and means the tenants below.
 */
async function findCrowded(
  sql: Sql,
  { column, indexed, ranges }: NameColumn,
  wanted: WantedVoucher,
): Promise<FoundVoucher | null> {
  const key = sql.unsafe(indexed(column))
  const most = sql.unsafe(String(maxNamed))
  const found = ranges
    .map(
      ([range, isMatch]) => sql`(
        select array_agg(array[${voucherRow.select(sql)}, ${tenantRow.select(sql)}, (error is not null)::text])
        from (
          select (present.voucher).*, customer_name, error
          from unnest(owners) as owner_id
          cross join lateral (
            select id, ${sql.unsafe(column)} as stored from gateway.voucher_entry
            where ${key} = name and ${sql.unsafe(range)} offset 0
          ) record
          cross join lateral (
            select (voucher).*, voucher, customer_name, error from gateway.read_present_voucher(record.id) offset 0
          ) present
          where tenant_id = owner_id and (${sql.unsafe(column)} = stored or ${sql.unsafe(isMatch)})
          limit 2
        ) voucher
        join gateway.tenant owner on owner.id = voucher.tenant_id join gateway.tenant on tenant.id = wanted.at
      )`,
    )
    .reduce((former, next) => sql`${former}, ${next}`)
  const [row] = await sql`
    select /* resolution.find_crowded */ found[1][1], found[1][2], found[1][3], array_length(found, 1)
    from (
      select text, at, token_id, ${sql.unsafe(indexed('text'))} as name, gateway.trimmed(text) collate "C" as exact
      from (
        select ${wanted.text}::text as text, ${wanted.at}::bigint as at, ${wanted.tokenId}::bigint as token_id
      ) as given offset 0
    ) as wanted ${sql.unsafe(tenantPathJoin)}
    cross join lateral (
      select case when count(*) <= ${most} then coalesce(array_agg(distinct tenant_id), array[at]) end as tenants
      from (
        select tenant_id from gateway.voucher_entry
        where (${key}, tenant_id) between (name, 0) and (name, ${Number.MAX_SAFE_INTEGER}::bigint)
        order by ${key}, tenant_id limit ${most} + 1
      ) voucher
    ) named
    cross join lateral unnest(place_path || null::bigint)
      with ordinality as related(tenant_id, distance)
    cross join lateral (
      select array(
        select owner_id
        from unnest(case
          when named.tenants is not null then named.tenants
          when related.tenant_id is not null then array[related.tenant_id]
          else array(
            with recursive below as (
              select at as id union select child.id from below
              cross join lateral (select tenant.id from gateway.tenant where parent_id = below.id offset 0) child
            ) select id from below) end) as owner_id ${joinScope(sql)}
        where (owner_id = related.tenant_id or related.tenant_id is null and owner_id <> all(place_path))
          and is_granted and is_related
      ) as owners offset 0
    ) scoped
    cross join lateral (select coalesce(${found}) as found offset 0) nearest
    where found is not null order by distance limit 1`.raw()
  return row ? toFoundVoucher(row[0], row[1], `${row[2]}` === 'true', `${row[3]}` === '2') : null
}
