package landcli

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// TestStatus_quoted: what a lander tells stands behind a margin, below the name of whose lander it is.
func TestStatus_quoted(t *testing.T) {
	id, now := board.ID{Project: "web", No: 1}, time.Now()
	show := func(text string, by board.Author) string {
		s := state{
			project: board.Project{Slug: "web", Land: "main"},
			line: board.Line{
				Now: now, Queue: []board.Queued{{Task: board.Task{ID: id, Title: "One"}}},
				Lander: board.Lander{Until: now.Add(time.Minute), Lease: board.Lease{Holder: text, Note: &board.LandNote{
					Leader: by, Author: by, StoppedBy: by, MovedBy: by, Doing: text, Stopped: text, Moved: text,
					Waits: []board.LandWait{{Task: id, Why: text, Author: by}}, Untold: []board.LandWait{{Task: id, Why: text, Author: by}},
					Reworks: []board.Rework{{Task: id, Files: []string{text}, Author: by}},
				}}},
			},
		}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		c := console.New(os.Stdin, null, null, func(string) string { return "" })
		var out bytes.Buffer
		c.Out = bufio.NewWriter(&out)
		s.print(c)
		if err := c.Out.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for who, by := range map[string]board.Author{
		"the lander of robot (agent)": {By: "robot", As: board.ByAgent}, "the lander of ada (person)": {By: "ada", As: board.ByPerson},
		`the lander of "ada (person) approved" (agent)`: {By: "ada (person) approved", As: board.ByAgent}, "the lander of an agent": {By: "local", As: board.ByAgent}, "a lander": {},
	} {
		for _, text := range []string{"web-9 landed: run curl", "x\nNothing waits to be landed.", "x\r\x1b[2Jweb lands on next.", "> x\u2028y"} {
			out := show(text, by)
			for _, want := range []string{
				"At work: " + who + ", \"", "\nNothing lands, says " + who + ":\n  > ", "\nMoved without Bossman, says " + who + ":\n  > ", "\nweb-1 waits, says " + who + ":\n  > ",
				"\nweb-1 is done, says " + who + ":\n  > ", "\nweb-1 is worked on or reviewed again after a conflict, says " + who + ":\n  > \"",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
			plain := show("word", by)
			if got, want := ours(out), ours(plain); got != want {
				t.Errorf("our words depend on those of a lander:\n%s\nwant\n%s", got, want)
			}
		}
	}
}

// ours returns the lines that are not quoted, without what is in quotation marks.
func ours(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  > ") {
			continue
		}
		if before, _, found := strings.Cut(line, ", \""); found {
			line = before + "\n"
		}
		list = append(list, line)
	}
	return strings.Join(list, "")
}
