select id as key, tenant_id, email, marketing_opted, consented_at, consent_source, created_at, forename, surname, full_name,
       phone_number, address_1, address_2, town, city, county, country, countryiso2, postcode
from public.customer
