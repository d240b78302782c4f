-- Functions of values: which of them v1 can show, and how texts are compared.

-- Returns how many digits a currency has after the decimal point (ISO 4217): 0, 2 or 3.
create function gateway.minor_unit_digits(currency text) returns integer
language sql immutable parallel safe
return case
  when currency in ('BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND',
                    'VUV', 'XAF', 'XOF', 'XPF') then 0
  when currency in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 3
  else 2
end;

-- For mappings: returns an amount from its minor units. 1050 is 10.50 EUR, or 1050 JPY. The code is in any case.
create function gateway.major_units(minor numeric, currency text) returns numeric
language sql immutable parallel safe
return round(minor / 10::numeric ^ gateway.minor_unit_digits(upper(currency)), gateway.minor_unit_digits(upper(currency)));

-- Returns whether an amount is a multiple of its currency's minor unit (R12) and small enough (15 significant digits) for
-- a JSON number to be exact. NaN and infinity are greater than every number, so they are no money. Null is valid.
create function gateway.is_money(amount numeric, currency text) returns boolean
language sql immutable parallel safe
return amount is null
  or (currency is not null and amount >= 0 and amount < 1e12
      and scale(trim_scale(amount)) <= gateway.minor_unit_digits(currency));

-- Returns whether a text has the form of an IANA name, in any case. PostgreSQL also knows abbreviations (BST), offsets and rules
-- (PST8), and files of its server (localtime, posix/...): in browsers they have another meaning, or none.
create function gateway.has_time_zone_form(name text) returns boolean
language sql immutable parallel safe
return (name collate "C") ~* '^[a-z_]+/[a-z_/-]+$' and (name collate "C") !~* '^(posix|right)/'
  -- The tz database adds no more names without a slash, or with digits.
  or (name collate "C") ~* ('^(etc/gmt(0|[+-][0-9]|[+-]1[0-2]|-1[34])|gmt[+-]?0|(est5e|cst6c|mst7m|pst8p)dt|w-su|gb-eire'
    '|nz-chat|[cemw]et|[ehm]st|cuba|egypt|eire|gb|gmt|greenwich|hongkong|iceland|iran|israel|jamaica|japan|kwajalein'
    '|libya|navajo|nz|poland|portugal|prc|roc|rok|singapore|turkey|uct|universal|utc|zulu)$');

-- Returns the text with which `at time zone` means a time zone of this name: PostgreSQL takes the shortest names for
-- abbreviations, which have no summer time, and which a setting of the server (timezone_abbreviations) can change.
create function gateway.time_zone(name text) returns text
language sql immutable parallel safe
return case when length(name) > 4 then name else
  case upper(name collate "C")
    when 'CET' then 'Europe/Brussels'
    when 'MET' then 'Europe/Brussels'
    when 'EET' then 'Europe/Athens'
    when 'WET' then 'Europe/Lisbon'
    when 'EST' then 'America/Panama'
    when 'MST' then 'America/Phoenix'
    when 'HST' then 'Pacific/Honolulu'
    when 'GMT' then 'Etc/UTC'
    when 'UCT' then 'Etc/UTC'
    when 'UTC' then 'Etc/UTC'
    when 'ZULU' then 'Etc/UTC'
    else name
  end
end;

-- Returns whether a text is the name of an IANA time zone that this server knows.
create function gateway.is_time_zone(name text) returns boolean
language plpgsql stable
as $$
begin
  perform now() at time zone gateway.time_zone(name);
  return gateway.has_time_zone_form(name);
exception when invalid_parameter_value then
  return false;
end $$;

-- For mappings: returns the last valid day at a time zone of what ends at an instant, which is not part of it. Infinity: null.
create function gateway.last_day(ends_at timestamptz, zone text) returns date
language sql immutable parallel safe
return case when isfinite(ends_at) then ((ends_at - interval '1 microsecond') at time zone gateway.time_zone(zone))::date end;

-- Returns whether R13 can express an instant: its year has four digits and is AD; it is not infinite. Null is valid.
create function gateway.is_instant(stamp timestamptz) returns boolean
language sql immutable parallel safe
return stamp is null
  or (stamp >= timestamptz '0001-01-01 00:00:00+00' and stamp < timestamptz '10000-01-01 00:00:00+00');

-- Returns whether a JSON number expresses an id exactly (R14): 1 to 2^53 - 1. Null is valid.
create function gateway.is_identifier(id bigint) returns boolean
language sql immutable parallel safe
return id is null or id between 1 and 9007199254740991;

-- The case of letters is Unicode's, whatever the locale of the database (R27): a collation of ICU knows it in all versions.
do $$
begin
  if to_regcollation('pg_catalog."und-x-icu"') is null then
    raise exception 'The server has no collation und-x-icu.'
      using errcode = 'feature_not_supported', hint = 'Use a PostgreSQL server that is built with ICU, as nearly all are.';
  end if;
end $$;

-- Returns a text in one case: two texts that differ in case only are equal in it. Also of `ß` and `SS`, of `Σ` and `ς`.
create function gateway.folded(words text) returns text
language sql immutable parallel safe
return upper(lower(words collate "und-x-icu"));

-- Returns whether a text contains another one, in any case.
create function gateway.has_text(words text, part text) returns boolean
language sql immutable parallel safe
return position(gateway.folded(part) in gateway.folded(words)) > 0;

-- Returns the regular expression of a character that is not trimmed (R27): no white space, control character or character
-- without a width. src/domain/trimmed.ts has the same characters.
create function gateway.visible() returns text
language sql immutable parallel safe
return '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f'
       '\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0]';

-- Returns a text without the invisible characters at both ends; null when it has no others.
create function gateway.trimmed(words text) returns text
language sql immutable parallel safe
return substring(words collate "C" from gateway.visible() || '(?:.*' || gateway.visible() || ')?');

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
