select person from changed;
