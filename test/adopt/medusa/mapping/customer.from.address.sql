select customer.id from changed join public.customer on billing_address_id = changed.id;
