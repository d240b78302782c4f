-- Entries: a narrow row for each voucher, consent and withdrawal of consent, with the values that filters, orders and
-- figures need. The follower (0017) keeps them, so writers pay for none of their indexes. Products are few: they are searched
-- in their own table, and its indexes are its writers' (0018).

-- Indexes of texts by their trigrams, together with the tenant. An owner of the database may create both extensions.
do $$
declare
  extension text;
begin
  foreach extension in array array['pg_trgm', 'btree_gin'] loop
    execute format('create extension if not exists %I', extension);
  end loop;
exception
  when feature_not_supported or undefined_file then
    raise exception 'The extension % is not installed on the server.', extension
      using errcode = 'feature_not_supported',
            hint = 'Let an administrator of the server install the package of PostgreSQL''s additional modules: on Debian it '
                   'is part of postgresql, elsewhere it is often called postgresql-contrib.';
  when insufficient_privilege then
    raise exception 'The extension % is missing, and % may not create it.', extension, quote_ident(current_user)
      using errcode = 'insufficient_privilege',
            hint = format('Let an administrator of the database run: create extension %I;', extension);
end $$;

-- Returns the part of a voucher's status that does not depend on the day: `void`, `redeemed`, `part` or `full` (R25).
create function gateway.voucher_state(void boolean, redemption_status text, initial_balance numeric, current_balance numeric)
returns text
language sql immutable parallel safe
return case
  when void then 'void'
  when lower(redemption_status) = 'redeemed' or current_balance <= 0 then 'redeemed'
  when current_balance < initial_balance then 'part'
  else 'full'
end;

-- Returns the sort key of a text, to be compared by bytes: a letter with an accent follows the one without it. Only the
-- beginning of the text, because an index stores no long text.
create function gateway.text_order(words text) returns text
language sql immutable parallel safe
return left(normalize(gateway.folded(words), nfd), 100);

-- Returns whether a word occurs in a text of gateway.folded. One of one or two characters must begin a word of the text: it
-- comes after neither a letter nor a digit.
create function gateway.has_word(words text, word text) returns boolean
language sql immutable parallel safe
return words collate "und-x-icu" ~ (case when length(word) < 3 then '(?<![[:alnum:]])' else '' end
                                    || regexp_replace(gateway.folded(word), '[][\\^$.*+?(){}|]', '\\\&', 'g'));

-- Always true, but with a high cost estimate, so that a search uses the index that bounds it to the fewest rows, also when a
-- tenant has most of a table. Not parallel, because starting workers takes longer than such a read.
create function gateway.is_read(id bigint) returns boolean
language plpgsql immutable parallel unsafe cost 10000
as 'begin return true; end';

create table gateway.voucher_entry (
  id                 bigint primary key,
  tenant_id          bigint not null,
  updated_at         timestamptz not null,
  state              text not null, -- What gateway.voucher_state returns.
  purchase_timestamp timestamptz,
  date_valid_start   date,
  date_valid_end     date not null, -- infinity: it does not expire.
  product_id         bigint,        -- parent_product_id, else product_id.
  currency           text,
  initial_balance    numeric,
  current_balance    numeric,
  purchase_value     numeric
);

-- The texts of each gateway.voucher_entry: a balance changes often, these texts hardly ever, and each change of a row also
-- changes its index.
create table gateway.voucher_text (
  id        bigint primary key,
  tenant_id bigint not null,
  words     text not null, -- The texts that are searched: gateway.folded.
  recipient text           -- The same of its recipient's name: not every token may search it.
);

-- Customers who consent now, and those who have a consented_at.
create table gateway.consent_entry (
  id              bigint primary key,
  tenant_id       bigint not null,
  updated_at      timestamptz not null,
  marketing_opted boolean not null,
  consented_at    timestamptz,
  consent_source  text, -- Null without consent, like words: figures need no personal data.
  -- Of the full name, else of the given and the family name: gateway.text_order; empty without consent.
  name            text collate "C",
  words           text
);

-- When customers withdrew their consent: of each removal with that reason (0007), also after it is purged.
create table gateway.withdrawal_entry (
  id           bigint primary key,
  tenant_id    bigint not null,
  withdrawn_at timestamptz not null
);

grant select on gateway.voucher_entry, gateway.voucher_text, gateway.consent_entry, gateway.withdrawal_entry to voucher_gateway;

-- Returns the indexes of the entries besides their keys, and the one of the rollups (0016). The follower creates them when it
-- has written all rows for the first time: adding each row to existing indexes takes many times longer.
create function gateway.entry_indexes() returns table (name text, definition text)
language sql stable
as $$
  select name, format('create %s %I on gateway.%s', case when name = 'figure_rollup_key' then 'unique index' else 'index' end,
                      name, replace(columns, 'trigrams', opclass))
  from (values
    -- With all columns of filters: a search reads the entries in order, and the table only when a page of it was changed
    -- since the last vacuum.
    ('voucher_entry_list', 'voucher_entry (tenant_id, updated_at, id)
      include (state, purchase_timestamp, date_valid_start, date_valid_end, product_id, currency, current_balance)'),
    ('voucher_entry_end', 'voucher_entry (tenant_id, date_valid_end, id)
      include (updated_at, state, purchase_timestamp, date_valid_start, product_id, currency, current_balance)'),
    ('voucher_entry_purchase', 'voucher_entry (tenant_id, purchase_timestamp, id)
      include (updated_at, state, date_valid_start, date_valid_end, product_id, currency, current_balance)'),
    ('voucher_entry_balance', 'voucher_entry (tenant_id, currency, current_balance, id)
      include (updated_at, state, purchase_timestamp, date_valid_start, date_valid_end, product_id)'),
    -- Few vouchers are in these states.
    ('voucher_entry_state', $index$voucher_entry (tenant_id, state, date_valid_end, id)
      include (updated_at, purchase_timestamp, date_valid_start, product_id, currency, current_balance)
      where state in ('void', 'part')$index$),
    -- Few vouchers are not valid yet: those that begin after today.
    ('voucher_entry_start', 'voucher_entry (tenant_id, date_valid_start) include (state)'),
    ('voucher_entry_product', 'voucher_entry (tenant_id, product_id)'),
    ('voucher_text_trigram', 'voucher_text using gin (tenant_id, words trigrams, recipient trigrams)'),
    ('consent_entry_list', 'consent_entry (tenant_id, updated_at, id) where marketing_opted'),
    ('consent_entry_consent', 'consent_entry (tenant_id, marketing_opted, consented_at, id)'),
    -- The beginning of the source, because an index stores no long text.
    ('consent_entry_source', 'consent_entry (tenant_id, left(consent_source, 100), consented_at, id) where marketing_opted'),
    ('consent_entry_name', 'consent_entry (tenant_id, name, id) where marketing_opted'),
    ('consent_entry_text', 'consent_entry using gin (tenant_id, words trigrams)'),
    ('withdrawal_entry_tenant', 'withdrawal_entry (tenant_id, withdrawn_at)'),
    ('figure_rollup_key', 'figure_rollup (ancestor_id, kind, grain, at, currency, state, product_id)')) entry_index (name, columns),
    -- An administrator may have created the extension in a schema of its own.
    (select quote_ident(nspname) || '.gin_trgm_ops' as opclass
     from pg_extension join pg_namespace on pg_namespace.oid = extnamespace where extname = 'pg_trgm') extension
$$;

-- Returns the entry of a voucher. The body is text: the platform may change the type of a column.
create function gateway.entry_of(voucher public.purchased_voucher) returns setof gateway.voucher_entry
language sql stable
as $$
  select voucher.id, voucher.tenant_id, voucher.updated_at,
         gateway.voucher_state(voucher.void, voucher.redemption_status, voucher.initial_balance, voucher.current_balance),
         voucher.purchase_timestamp, voucher.date_valid_start, coalesce(voucher.date_valid_end, 'infinity'),
         coalesce(voucher.parent_product_id, voucher.product_id), voucher.currency, voucher.initial_balance,
         voucher.current_balance, voucher.purchase_value
$$;

-- Returns the texts of a voucher.
create function gateway.text_of(voucher public.purchased_voucher) returns setof gateway.voucher_text
language sql stable
as $$
  select voucher.id, voucher.tenant_id, gateway.folded(concat_ws(' ', voucher.reference, voucher.product_title)),
         gateway.folded(voucher.recipient_name)
$$;

-- Returns the entry of a customer, or no row.
create function gateway.entry_of(customer public.customer) returns setof gateway.consent_entry
language sql stable
as $$
  select customer.id, customer.tenant_id, customer.updated_at, customer.marketing_opted, customer.consented_at,
         case when customer.marketing_opted then customer.consent_source end,
         -- An empty text and not null: otherwise the planner would assume that many customers who consent have no name.
         case when customer.marketing_opted then gateway.text_order(coalesce(
           customer.full_name, customer.forename || ' ' || customer.surname, customer.surname, customer.forename))
         else '' end,
         case when customer.marketing_opted then gateway.folded(concat_ws(
           ' ', customer.full_name, customer.forename, customer.surname, customer.email)) end
  where customer.marketing_opted or customer.consented_at is not null
$$;
