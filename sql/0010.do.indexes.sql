-- What was asked of these tables passed along much of them.

-- When each administrator last signed in: for one who never did, all entries were passed along.
create index audit_entry_sign_in on gateway.audit_entry (administrator_id, id) where action = 'administrator.sign_in';

-- Those about a tenant that was granted to a token or taken from it name it in their detail alone. There are few.
create index audit_entry_grant on gateway.audit_entry (at, id) where action in ('token.create', 'token.edit');

-- Who may be told of some kinds of records only does not pass along the others.
create index removal_of_resource on gateway.removal (tenant_id, resource, updated_at, id);

-- Products are counted by the index alone: with an expression in it, it must also hold what the expression is made of.
drop index public.product_list;
create index product_list on public.product (tenant_id, coalesce(updated_at, '-infinity'), id) include (updated_at);
