-- Adds the difference between former and present consents, and withdrawals, to the rollups.
create or replace function gateway.add_consent_figures(
  fresh gateway.customer[], stale gateway.customer[], withdrawals gateway.consent_withdrawal[]) returns void
language sql
begin atomic
  select gateway.add_figures(array(
    select figure from unnest(fresh) customer, gateway.event_figures(customer.tenant_id, 'consent', customer.consented_at, 1) figure
    union all
    select figure from unnest(stale) customer, gateway.event_figures(customer.tenant_id, 'consent', customer.consented_at, -1) figure
    union all
    select figure from unnest(withdrawals) event, gateway.event_figures(event.tenant_id, 'withdrawal', event.withdrawn_at, 1) figure));
end;
