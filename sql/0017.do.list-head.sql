-- Heads: when each list of a tenant changed last (I12). So a client finds the lists that changed without reading any list.
create table gateway.list_head (
  tenant_id  bigint not null, -- Whose list it is. The tenant itself, and what left below it, are its list of tenants.
  record     gateway.record_type not null,
  changed_at timestamptz not null,
  primary key (tenant_id, record)
);
create index list_head_changed_at on gateway.list_head (changed_at);
grant select on gateway.list_head to voucher_gateway;
comment on table gateway.list_head is 'The stamp of the last change of each list; removals are changes too';

alter type gateway.written add attribute heads gateway.list_head[]; -- Of the lists that it has changed.

-- No step comes between these rows and the functions that keep them. Writers do not need this lock.
lock table gateway.step_lock in exclusive mode;
insert into gateway.list_head (tenant_id, record, changed_at)
select tenant_id, record::gateway.record_type, max(changed_at)
from (
  select id as tenant_id, 'tenant' as record, updated_at as changed_at from gateway.tenant
  union all
  select tenant.id, record, changed_at
  from gateway.tenant cross join lateral (values
    ('product', (select updated_at from gateway.product where tenant_id = tenant.id order by updated_at desc limit 1)),
    ('voucher', (select updated_at from gateway.voucher where tenant_id = tenant.id order by updated_at desc limit 1)),
    ('customer', (select updated_at from gateway.customer where tenant_id = tenant.id and marketing_opted order by updated_at desc limit 1))
  ) list (record, changed_at)
  union all
  select tenant_id, record::text, updated_at from gateway.removal
) change
-- Before its end, the first fill has not made the indexes. It writes the heads itself.
where changed_at is not null and to_regclass('gateway.figure_rollup_key') is not null
group by 1, 2;
