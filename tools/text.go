package tools

import (
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// Helpers for the texts that models read. A text for a worker names no other worker,
// because models take names that they see for their own.

// nextCall formats the call with which a worker gets its next task.
func nextCall(worker string) string {
	if worker == "" {
		return call("get_next_task")
	}
	return call("get_next_task", "worker", worker)
}

// claimList lists claims, each with its worker. It is for the caller's own claims only.
func claimList(held []board.Claim) string {
	var out []string
	for i, c := range held {
		if i == 10 {
			out = append(out, fmt.Sprintf("%d more", len(held)-i))
			break
		}
		out = append(out, fmt.Sprintf("%v (%s)", c.Task, inline(c.Worker.Name, 80)))
	}
	return strings.Join(out, ", ")
}

// idList lists up to 20 ids.
func idList(ids []board.ID) string {
	if len(ids) > 20 {
		return strings.Join(idStrings(ids[:20]), ", ") + fmt.Sprintf(" and %d more", len(ids)-20)
	}
	return strings.Join(idStrings(ids), ", ")
}

// joined joins values with commas.
func joined[T ~string](values []T) string { return strings.Join(toStrings(values), ", ") }

// toStrings converts values of a string type to strings.
func toStrings[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// count formats a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sentence gives s a capital letter, unless it starts with an id, and a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "No reason was given."
	}
	if c := s[0]; c >= 'a' && c <= 'z' && !strings.Contains(firstWord(s), "-") {
		s = capital(s)
	}
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "!") && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "…") {
		s += "."
	}
	return s
}

// capital gives s a capital letter.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// since says how long ago then was.
func since(now, then time.Time) string { return board.Span(now.Sub(then)) + " ago" }

// clock formats a time of day.
func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }
