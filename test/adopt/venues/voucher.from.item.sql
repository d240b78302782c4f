select "No" from changed join shop."Gift Card" card on card.item = changed.id;
