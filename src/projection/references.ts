import type { Sql } from '../db/sql.ts'

/** The number of references of a column to records that do not exist. */
export interface LostReferences {
  record: string
  column: string
  /** The type of the records to which the column refers. */
  kind: string
  lost: number
  references: number
  /** The first record with such a reference. */
  firstId: number
}

/** Counts, for each column, the references to records that do not exist. Leaves out types without a mapping. */
export const findLostReferences = (sql: Sql) => sql<LostReferences[]>`
  with /* record.find_lost_references */ reference (record, "column", kind, id, target) as (
    -- Of a voucher that was sold as a variant, product_id names the variant.
    select 'voucher', 'product_id', case when parent_product_id is null then 'product' else 'variant' end, id, product_id from gateway.voucher
    union all select 'voucher', 'parent_product_id', 'product', id, parent_product_id from gateway.voucher
    union all select 'variant', 'product_id', 'product', id, product_id from gateway.variant
    union all select 'product', 'category_ids', 'category', id, unnest(category_ids) from gateway.product
    union all select 'tenant', 'parent_id', 'tenant', id, parent_id from gateway.tenant
  ), existing (kind, target) as (
    select 'product', id from gateway.product union all select 'variant', id from gateway.variant
    union all select 'category', id from gateway.category union all select 'tenant', id from gateway.tenant
  )
  select record, "column", kind, count(*) filter (where existing.target is null) as lost, count(*) as references,
         min(id) filter (where existing.target is null) as "firstId"
  from reference left join existing using (kind, target)
  where target is not null and kind in (select rule.record::text from gateway.rule)
  group by record, "column", kind having count(*) > count(existing.target)
  order by record, "column", kind`
