select id as key, tenant_id, reference, qr_token, initial_balance, current_balance, purchase_value, currency, is_monetary,
       allow_part_redeem, void, order_id, order_item_id, product_id, product_title, product_slug, parent_product_id,
       parent_product_title, purchase_timestamp, date_issued, date_valid_start, date_valid_end, date_scheduled,
       redemption_status, void_reason, void_date, recipient_name, customer_name, created_at
from public.purchased_voucher
