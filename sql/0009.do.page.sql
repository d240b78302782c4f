-- Pages are plain statements of the service now, each after the watermark in a statement of its own.

drop function gateway.tenant_page, gateway.product_page, gateway.purchased_voucher_page, gateway.marketing_signup_page,
              gateway.removal_page;
drop function gateway.noted_watermark;
drop function gateway.note_watermark;
