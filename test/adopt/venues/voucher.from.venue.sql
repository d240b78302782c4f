select "No" from changed join shop."Gift Card" card on card.venue = changed.id;
