  with removal as (
    insert into gateway.removal (record, tenant_id, id, reason, updated_at)
    select '{record}', stale.tenant_id, stale.id,
           case when fresh.tenant_id is null then 'deleted' {withdrawn} else 'moved' end::gateway.removal_reason,
           written.latest + row_number() over (order by stale.id) * interval '1 microsecond'
    from unnest(stale_rows) stale left join unnest(fresh_rows || leaving_rows) fresh using (id)
    where (fresh.tenant_id is distinct from stale.tenant_id {or_withdrawn})
    returning tenant_id, reason, updated_at
  )
  select coalesce(max(updated_at), written.latest),
         array_agg((tenant_id, updated_at)::gateway.consent_withdrawal) filter (where reason = 'consent_withdrawn')
  into written.latest, withdrawals from removal;
