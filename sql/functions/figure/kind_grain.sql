-- The grains of each kind of figures.
create or replace view gateway.kind_grain (kind, grain, is_finest) as values
  ('sale'::gateway.figure_kind, 'half_hour'::gateway.figure_grain, true), ('sale', 'three_hours', false), ('sale', 'day', false),
  ('consent', 'half_hour', true), ('consent', 'three_hours', false), ('consent', 'day', false),
  ('withdrawal', 'half_hour', true), ('withdrawal', 'three_hours', false), ('withdrawal', 'day', false),
  ('balance', 'day', true),
  -- A large group has thousands of products. With these grains, a read of several years adds few rows of each product.
  ('product', 'month', true), ('product', 'quarter', false), ('product', 'year', false),
  -- For a long period, a read takes this row, and subtracts the years outside the period.
  ('product', 'all', false);
grant select on gateway.kind_grain to voucher_gateway;
