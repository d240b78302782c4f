select card from changed;
