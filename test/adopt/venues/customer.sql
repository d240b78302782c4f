select id as key, venue as tenant_id, email, coalesce(latest.given, false) as marketing_opted,
       latest.at as consented_at, created_at
from shop.person
left join lateral (select given, at from shop.consent where consent.person = person.id order by at desc limit 1) latest on true;
