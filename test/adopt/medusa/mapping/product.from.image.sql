select product_id from changed join public.product_images on image_id = changed.id;
