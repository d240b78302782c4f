create or replace view gateway.record_figure as
select figure.* from gateway.voucher, gateway.figures_of(voucher, 1, current_balance) figure
union all select figure.* from gateway.customer, gateway.event_figures(tenant_id, 'consent', consented_at, 1) figure
union all
select figure.* from gateway.consent_withdrawal, gateway.event_figures(tenant_id, 'withdrawal', withdrawn_at, 1) figure;
grant select on gateway.record_figure to voucher_gateway;
