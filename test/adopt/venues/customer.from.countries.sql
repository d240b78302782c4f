select customer from changed join shop.address on address.country = changed.code;
