select variant_id from changed;
