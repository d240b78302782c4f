-- Functions of values: which of them v1 can show, and how texts are compared.

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

-- Returns the sort key of a text, to be compared by bytes: a letter with an accent comes after the letter without it. Only the
-- beginning of the text, because an index stores no long text.
create function gateway.text_order(words text) returns text
language sql immutable parallel safe
return left(normalize(gateway.folded(words), nfd), 100);

-- Returns a key as gateway.rejected has it: an index stores no long key.
create function gateway.short_key(key text) returns text
language sql immutable parallel safe
return case when octet_length(key) > 1000 then left(key, 100) || '… ' || md5(key) else key end;

grant execute on function gateway.folded, gateway.text_order, gateway.trimmed, gateway.visible to voucher_gateway;
