-- The entries that vouchers must have, by their records (I11).
create or replace view gateway.expected_entry as
select id, tenant_id, reference, qr_token, purchase_timestamp, date_valid_start, ends_on, sold_product_id,
       gateway.folded(concat_ws(' ', reference, product_title)) as words, gateway.folded(recipient_name) as recipient
from gateway.voucher;
