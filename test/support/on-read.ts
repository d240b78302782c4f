/**
 * Returns statements that let the database run PL/pgSQL, as its owner, for rows of a table that the service reads. Only
 * resolutions read `gateway.voucher_entry` by a reference.
 *
 * @returns `apply` to begin and `undo` to end
 */
export const onRead = (table: string, body: string) => ({
  apply: `create function on_read() returns boolean security definer language plpgsql
            as $x$ begin ${body}; return true; end $x$;
          create policy on_read on ${table} using (on_read());
          alter table ${table} enable row level security`,
  undo: `alter table ${table} disable row level security; drop policy on_read on ${table}; drop function on_read()`,
})
