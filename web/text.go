package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// unixStart is a time in the past, for cookies that end.
var unixStart = time.Unix(0, 0)

// A moment is a time as a page shows it; the script keeps it current, and shows clock times
// in the browser's zone.
type moment struct {
	At   string // in RFC 3339, for the script
	Text string
	Kind string // ago, left, clock or since
}

// ago is how long ago something was: "4 min ago".
func ago(t, now time.Time) moment {
	return moment{stamp(t), agoText(now.Sub(t)), "ago"}
}

// lasted is how long something has lasted: "4 min".
func lasted(t, now time.Time) moment {
	return moment{stamp(t), span(now.Sub(t)), "since"}
}

// left is how long something lasts from now: "24 min".
func left(t, now time.Time) moment { return moment{stamp(t), span(t.Sub(now)), "left"} }

// nearby is how far away a time of the day may be without its date.
const nearby = 20 * time.Hour

// clock is a time of the day: "14:30", with the date if it is far away.
func (s *Site) clock(t, now time.Time) moment {
	t = t.In(s.o.Zone)
	layout := "15:04"
	if t.Sub(now).Abs() > nearby {
		layout = "2 Jan 15:04"
	}
	return moment{stamp(t), t.Format(layout), "clock"}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func agoText(d time.Duration) string {
	if d < 2*time.Second {
		return "now"
	}
	return span(d) + " ago"
}

// span is a duration in one unit, as short as people say it.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0 s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}

// cost is an amount of millionths of a dollar; empty if it is not known.
func cost(micros int64, known bool) string {
	if !known {
		return ""
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// number writes an integer with separators: 10,452.
func number[T ~int | ~int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// plural writes a number with its noun: "1 agent", "12 agents".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// line is text that others wrote, on one line of at most n characters.
func line(s string, n int) string { return cut(visible.Line(s), n) }

// cut shortens a text to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n-1]), " ") + "…"
}

// landerOf names the lander that wrote a text.
func landerOf(a board.Author) string {
	return a.Lander(func(name string) string {
		name = line(name, 60)
		if strings.ContainsAny(name, "()“”\",.:;") {
			return quoted(name)
		}
		return name
	})
}

// told is what a lander says, quoted behind its name and cut to n characters.
func told(a board.Author, text string, n int) string {
	return landerOf(a) + " says: " + quoted(line(text, n))
}

// quoted puts a line in quotation marks, which it does not end itself.
func quoted(line string) string {
	return "“" + strings.NewReplacer("“", `"`, "”", `"`).Replace(line) + "”"
}

// firstLine is the first line of a text, and the rest of it.
func firstLine(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(visible.Text(s)), "\n")
	return strings.TrimSpace(first), strings.TrimSpace(rest)
}

// taskPath is the address of a task's page.
func taskPath(id board.ID) string { return "/task/" + id.String() }

// questionPath is the address of a question's page.
func questionPath(id board.QuestionID) string { return "/inbox/" + id.String() }
