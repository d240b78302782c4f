-- Redemption tokens are signed, and no longer stored (R26).

-- The keys that sign them: the newest one whose time has come. The others are published: the next one so that those who check
-- tokens know it before its first token, the former ones until their last token has ended.
create table gateway.signing_key (
  number      integer primary key,
  private_key bytea not null check (length(private_key) = 32),
  signs_from  timestamptz not null
);
comment on column gateway.signing_key.number is '1 is the key of the first start; a rotation adds the next number';
comment on column gateway.signing_key.private_key is 'The private scalar of a key of the curve P-256, big-endian';
grant select, insert (number, private_key, signs_from), delete on gateway.signing_key to voucher_gateway;

-- A token names its voucher by its key in the source.
grant select on gateway.identity to voucher_gateway;

comment on table gateway.redemption_token is 'Former.';
