"""What each split job does with the rows, files and states that it is given; and what several jobs share."""
