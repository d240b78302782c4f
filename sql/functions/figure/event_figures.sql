-- Returns the addition of a consent or a withdrawal to the figures of its tenant, or no row when the instant is null.
create or replace function gateway.event_figures(tenant_id bigint, kind gateway.figure_kind, instant timestamptz, sign integer)
returns setof gateway.figure
language sql stable parallel safe
begin atomic
  select tenant_id, kind, gateway.half_hour(instant), '', '', 0, sign, 0, 0, 0 where instant is not null;
end;
grant execute on function gateway.event_figures to voucher_gateway;
