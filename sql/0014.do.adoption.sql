-- The check of a mapping, before it is installed. Its caller has created a temporary view `mapped_<type>` of each select
-- (gateway.create_view), and rolls its transaction back. The views are evaluated and planned as voucher_gateway_reader alone.

-- A finding. Its sentences end without a full stop.
create type gateway.finding as (
  level   text, -- `error`: the mapping cannot be installed. `warning`: it can.
  problem text,
  remedy  text,
  keys    jsonb  -- Examples, an array of at most ten.
);
