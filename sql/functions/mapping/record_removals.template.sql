  with removal as (
    insert into gateway.removal (record, tenant_id, id, reason, updated_at)
    select '{record}', stale.tenant_id, stale.id,
           case when fresh.tenant_id is null then 'deleted' {withdrawn} else 'moved' end::gateway.removal_reason,
           written.latest + row_number() over (order by stale.id) * interval '1 microsecond'
    from unnest(stale_rows) stale left join unnest(fresh_rows || leaving_rows) fresh using (id)
    where (fresh.tenant_id is distinct from stale.tenant_id {or_withdrawn})
    returning tenant_id, reason, updated_at
  ), head as (
    select tenant_id, max(updated_at) as changed_at
    from (select tenant_id, updated_at from removal union all select tenant_id, updated_at from unnest(written_rows) {listed}) change
    where counts group by tenant_id
  )
  select coalesce(max(updated_at), written.latest),
         array_agg((tenant_id, updated_at)::gateway.consent_withdrawal) filter (where reason = 'consent_withdrawn'),
         (select array_agg((tenant_id, '{record}', changed_at)::gateway.list_head) from head)
  into written.latest, withdrawals, written.heads from removal;
