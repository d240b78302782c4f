-- Indexes on the platform's tables, which may be large.
--
-- A file of the kind `index` runs outside of a transaction, statement by statement: a semicolon at the end of a line ends
-- each. No writer waits for `create index concurrently`. A file that was killed runs again, without the invalid index.

-- An administrator may have created the extensions (0015) in a schema of their own.
select set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), schemas), false)
from (select string_agg(distinct quote_ident(nspname), ', ') as schemas
      from pg_extension join pg_namespace on pg_namespace.oid = extnamespace
      where extname in ('pg_trgm', 'btree_gin')) extensions;

create index concurrently if not exists product_sort_order on public.product (tenant_id, sort_order, id);
create index concurrently if not exists product_monetary on public.product (tenant_id) where is_monetary;
create index concurrently if not exists product_price on public.product (tenant_id, currency, price, id);
create index concurrently if not exists product_title on public.product (tenant_id, gateway.text_order(title) collate "C", id);
create index concurrently if not exists product_text on public.product
  using gin (tenant_id, gateway.folded(title) gin_trgm_ops);

-- Changes of all tenants since an instant. An index of ranges of pages costs writers the least: docs/operating.md says how
-- much.
create index concurrently if not exists purchased_voucher_changes on public.purchased_voucher
  using brin (updated_at) with (pages_per_range = 4, autosummarize = on);
create index concurrently if not exists customer_changes on public.customer
  using brin (updated_at) with (pages_per_range = 4, autosummarize = on);

reset search_path;
