select product_id from changed;
