-- One store is one tenant.
select 1 as key, name, 'Europe/Berlin' as time_zone
from public.store;
