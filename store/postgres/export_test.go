package postgres

// HandOut is the statement whose cost the tests measure.
const HandOut = handOut

// Place reads a cursor.
var Place = place
