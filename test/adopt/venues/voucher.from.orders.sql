select card from changed join shop.order_line using ("orderNo", placed_at);
