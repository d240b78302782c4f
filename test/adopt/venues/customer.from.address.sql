select customer from changed;
