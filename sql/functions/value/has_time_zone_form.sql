-- Returns whether a text has the form of an IANA name, in any case. PostgreSQL also knows abbreviations (BST), offsets
-- and rules (PST8), and files of its server (localtime, posix/...), which have another meaning in browsers, or no
-- meaning.
create or replace function gateway.has_time_zone_form(name text) returns boolean
language sql immutable parallel safe
return (name collate "C") ~* '^[a-z_]+/[a-z_/-]+$' and (name collate "C") !~* '^(posix|right)/'
  -- The tz database adds no more names without a slash, or with digits.
  or (name collate "C") ~* ('^(etc/gmt(0|[+-][0-9]|[+-]1[0-2]|-1[34])|gmt[+-]?0|(est5e|cst6c|mst7m|pst8p)dt|w-su|gb-eire'
    '|nz-chat|[cemw]et|[ehm]st|cuba|egypt|eire|gb|gmt|greenwich|hongkong|iceland|iran|israel|jamaica|japan|kwajalein'
    '|libya|navajo|nz|poland|portugal|prc|roc|rok|singapore|turkey|uct|universal|utc|zulu)$');
grant execute on function gateway.has_time_zone_form to voucher_gateway;
