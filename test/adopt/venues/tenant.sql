select id as key, (select id from shop.venue parent where parent.path = substring(venue.path from '^(.+)/[^/]+$')) as parent_id, name,
       zone as time_zone
from shop.venue;
