select customer.id
from changed join public.address on country_code = iso_2 join public.customer on billing_address_id = address.id;
