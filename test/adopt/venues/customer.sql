select id as key, venue as tenant_id, email, surname, coalesce(latest.given, false) as marketing_opted, latest.at as consented_at,
       created_at, town, countries.name as country, code as countryiso2
from shop.customer
left join lateral (select given, at from shop.consent where consent.customer = customer.id order by at desc limit 1) latest on true
left join shop.address on address.customer = customer.id and kind = 'home'
left join shop.countries on code = address.country;
