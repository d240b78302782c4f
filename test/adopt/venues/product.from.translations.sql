select item from changed;
