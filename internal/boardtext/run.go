package boardtext

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// runText says what an agent used at an attempt: claude (opus), 1.2M tokens in, 31k out, $0.84.
func runText(r board.Run) string {
	text := word(r.Agent)
	if r.Model != "" {
		text += " (" + word(r.Model) + ")"
	}
	if r.Tokens != (board.Tokens{}) {
		text += fmt.Sprintf(", %s tokens in, %s out", short(r.Tokens.In), short(r.Tokens.Out))
	}
	if r.Priced {
		text += ", " + board.Dollars(r.Cost)
	}
	return text
}

// word is a name that somebody else gave, in quotation marks unless it is a plain word: else it could
// read like words of ours.
func word(name string) string {
	name = console.OneLine(name)
	if name != "" && strings.Trim(name, plain) == "" {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// Lander names the lander that wrote a text.
func Lander(a board.Author) string {
	return a.Lander(word)
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-"

// short is a number in at most three digits or so.
func short(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e3), ".0") + "k"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}

// resume is the command with which a person goes on with the session of a run, where it was;
// empty if there is none.
func resume(r board.Run, a board.Attempt, principal string) string {
	command := r.ResumeWith(&a, principal)
	if command == "" {
		return ""
	}
	return fmt.Sprintf("cd %s && %s %s", console.ShellWords(a.Where.Dir), command, console.ShellWords(r.Session))
}
