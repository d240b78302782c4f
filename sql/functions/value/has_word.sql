-- Returns whether a word occurs in a text of gateway.folded. A word of one or two characters must be the beginning of a
-- word of the text: neither a letter nor a digit may precede it.
create or replace function gateway.has_word(words text, word text) returns boolean
language sql immutable parallel safe
return words collate "und-x-icu" ~ (case when length(word) < 3 then '(?<![[:alnum:]])' else '' end
                                    || regexp_replace(gateway.folded(word), '[][\\^$.*+?(){}|]', '\\\&', 'g'));
grant execute on function gateway.has_word to voucher_gateway;
