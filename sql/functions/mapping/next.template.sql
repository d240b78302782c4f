return query select ({key})::text as found from ({query}) mapping where $1 is null or {key} > $1::{key_type} order by {key} limit $2;
