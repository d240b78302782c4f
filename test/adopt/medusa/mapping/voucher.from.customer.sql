select card.id
from changed join public."order" sale on customer_id = changed.id join public.gift_card card on order_id = sale.id;
