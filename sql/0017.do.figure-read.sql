-- What reads of figures need beside the rollups.

-- Before standard time, a day could begin within a quarter hour. The consents of such a quarter hour are counted from the
-- table; its vouchers by purchased_voucher_purchase (0015).
create index customer_consent on public.customer (tenant_id, consented_at);
