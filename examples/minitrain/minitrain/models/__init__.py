"""Models, as their authors wrote them and as this repository trains them."""
