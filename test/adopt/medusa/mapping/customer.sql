-- This shop stores the consent to its newsletter in the metadata of a customer.
select customer.id as key, 1 as tenant_id, email, coalesce(customer.metadata -> 'newsletter' = 'true', false) as marketing_opted,
       (customer.metadata ->> 'newsletter_at')::timestamptz as consented_at, customer.created_at,
       customer.first_name as forename, customer.last_name as surname,
       customer.phone as phone_number, address_1, address_2, city, province as county, display_name as country,
       upper(country_code) as countryiso2, postal_code as postcode
from public.customer
left join public.address on address.id = billing_address_id
left join public.country on iso_2 = country_code
where customer.deleted_at is null;
