// Package screen makes an animated SVG of what a terminal showed: text that stays sharp at every
// size, plays in an <img> element without a script, and is small enough for a README.
//
// Each row of the terminal is a strip of all that it ever showed, one below the other, behind a
// window of one line. An animation moves each strip, in steps, to what the row shows at that time.
// Readers who prefer reduced motion see the last frame.
package screen
