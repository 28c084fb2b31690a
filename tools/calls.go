package tools

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/bossman-dev/bossman/board"
)

// callLetters are what the names of servers, tools and steps have.
const callLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-"

// callLines tells which tools of other servers were called for a task: the last ones, and how many there were.
func callLines(calls board.DossierCalls) (lines []string) {
	for _, c := range calls.Last {
		line := c.String()
		if c.FromLaptop() { // then all of it is the worker's word
			line = fmt.Sprintf("by worker %s on its laptop, as it says: %s", inline(c.Worker.Name, 60), inline(line, 400))
		} else if strings.Trim(c.Upstream+c.Tool+c.Step, callLetters) != "" || strings.ContainsFunc(line, unicode.IsControl) { // the board gives no such names
			line = inline(line, 400)
		}
		lines = append(lines, line)
	}
	if all := calls.InAll(board.CallOutcome.Word); all != "" {
		lines = append(lines, "calls of other tools in all: "+all)
	}
	return lines
}
