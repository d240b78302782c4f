select row({read_fields})::gateway.voucher_fields, {read_more}, null into $2 from ({query}) mapping where {key} = $1::{key_type};
