select id as key, parent_id, name, subdomain, type, time_zone from public.tenant
