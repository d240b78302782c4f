select id from changed
union
select child.id from changed join shop.venue child on child.path like changed.path || '/%';
