select 1 from changed;
