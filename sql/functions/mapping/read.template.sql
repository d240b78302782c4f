return query select {read_fields}, {read_more} from ({query}) mapping where {key} = any($1::{key_type}[])
             and case when clock_timestamp() > (select nullif(current_setting('gateway.read_until', true), '')::timestamptz)
                      then gateway.stop_reading() else true end;
