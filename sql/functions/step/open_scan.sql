-- The scans that steps continue, including stopped scans whose cause may be corrected.
create or replace view gateway.open_scan as
select * from gateway.scan
where (stopped is null or failed_at not between clock_timestamp() - interval '10 seconds' and clock_timestamp())
  and record not in (select record from gateway.broken_mapping);
grant select on gateway.open_scan to voucher_gateway;
