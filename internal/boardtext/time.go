package boardtext

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

// Span is a duration for people; less than a second is 0 s.
func Span(d time.Duration) string {
	if d < time.Second {
		return "0 s"
	}
	return board.Span(d)
}

// Ago is how long before now a time was, empty for the zero time.
func Ago(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	if d := now.Sub(then); d < 2*time.Second {
		return "now"
	}
	return Span(now.Sub(then)) + " ago"
}

// stampLayout is the layout for a time in the history: the hour of the last day, the day
// of the last year, and the date before that.
func stampLayout(now, at time.Time) string {
	if now.Sub(at) < 20*time.Hour {
		return "15:04:05"
	}
	if now.Sub(at) < 300*24*time.Hour {
		return "Jan 02 15:04"
	}
	return "2006-01-02"
}
