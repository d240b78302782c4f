-- Evaluates or plans a query of a check, with the rights of the reader.
call gateway.create_reader('gateway.read_as_reader(text, text[])', 'setof record', 'return query execute $1 using $2;');
