package postgres

// Place reads a cursor.
var Place = place
