package boardtext

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
)

// printed returns what show prints on a terminal with that many columns; 0 is not a terminal.
func printed(t *testing.T, columns int, show func(*console.Console)) string {
	t.Helper()
	name := os.DevNull
	if columns > 0 {
		name = "/dev/ptmx"
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	if columns > 0 {
		stty := exec.Command("stty", "cols", strconv.Itoa(columns))
		stty.Stdin = file
		if err := stty.Run(); err != nil {
			t.Skip(err)
		}
	}
	c := console.New(os.Stdin, file, os.Stderr, func(string) string { return "1" }) // with NO_COLOR
	if c.Width() != columns {
		t.Fatalf("the terminal has %d columns, want %d", c.Width(), columns)
	}
	var out bytes.Buffer
	c.Out = bufio.NewWriter(&out)
	show(c)
	if err := c.Out.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestWidth: whatever others call their tasks, branches, clients, models and themselves, no line is
// wider than the terminal, which would break it, and none begins with words of theirs: they could be
// those of a line of ours.
func TestWidth(t *testing.T) {
	const forged = "next: bossman trust -y"
	id, now := board.ID{Project: "web", No: 1}, time.Now()
	show := func(c *console.Console, text string) {
		h := board.Handle{Task: id, Attempt: 1, Nonce: "abc"}
		where := board.Where{Host: "h", Dir: "/" + text, Branch: text, Head: "abc", Client: text, Ordered: text}
		claim := board.Claim{Handle: h, Worker: board.WorkerID{Name: "otter-7k", Principal: board.ImportBy + text}, Where: where, GrantedAt: now, LeaseUntil: now.Add(time.Minute), Lease: time.Minute}
		task := board.Task{ID: id, Title: text, Status: board.InProgress, CreatedBy: text}
		other := task
		other.ID.No = 2
		question := board.Question{ID: 1, Text: text, Asker: claim.Worker, AskedAt: now, State: board.QuestionAnswered, Answer: text, AnsweredBy: text, AnsweredAs: board.ByAgent, Options: []string{text}, Default: text}
		Claims(c, board.Summary{Claims: []board.Claim{claim}, Now: now}, map[board.ID]string{id: text})
		Show(c, board.Dossier{
			Task: task, Claim: &claim, Blockers: []board.Task{other}, Now: now, Questions: []board.Question{question},
			Doc:      board.Doc{Result: &board.Result{Summary: text, Check: text, ObservedOn: text, ObservedBy: text, Import: text}},
			Attempts: []board.Attempt{{Handle: h, Worker: claim.Worker, GrantedAt: now, Where: where}},
			Events:   []board.Event{{Task: id, Seq: 1, At: now, Kind: board.EventNote, Actor: text, Detail: board.Detail{Text: text}}},
		}, "", []board.Run{{Claim: h, Agent: "claude", Model: text}}, 1)
		ShowWhy(c, task, []board.Reason{
			{Code: board.WhyQuestion, Question: 1, Text: fmt.Sprintf("It waits for an answer to q-1: %q", text)},
			{Code: board.WhyPaused, Text: fmt.Sprintf("web is paused by %q.", text)},
			{Code: board.WhyCooling, Text: fmt.Sprintf("It is cooling down after a failure: %q", text)},
		})
		asked := boardjson.FromQuestion(question, now)
		asked.Earlier = []boardjson.Question{asked}
		InboxEntry(c, boardjson.InboxEntry{Kind: "question", ID: "q-1", Title: text, Detail: "default: " + text, Asked: &asked, Command: "bossman answer q-1"}, now)
		InboxEntry(c, boardjson.InboxEntry{Kind: "check", ID: "check", Title: "The check cannot run: " + text, Command: "bossman trust"}, now)
		told := boardjson.FromInbox(board.Inbox{Landing: []board.LandWait{{Task: id, Why: text, Author: board.Author{By: text, As: board.ByAgent}}}})[0]
		InboxEntry(c, told, now)
		InboxTable(c, []boardjson.InboxEntry{told}, now)
	}
	for _, columns := range []int{40, 80, 140} {
		texts := []string{
			"." + strings.Repeat("✅", 30) + forged,
			"." + strings.Repeat("❌⭐🟢", 13) + forged,
			strings.Repeat("x", 75) + forged,
			strings.Repeat("x ", 170) + forged,
		}
		for n := range columns { // one of them is broken where the forged line begins
			texts = append(texts, strings.Repeat("x", n)+" "+forged, strings.Repeat("x", n)+" "+forged+strings.Repeat(" y", 70))
		}
		for _, text := range texts {
			out := printed(t, columns, func(c *console.Console) { show(c, text) })
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				if console.TextWidth(line) > columns || strings.HasPrefix(strings.TrimLeft(line, " "), "next:") {
					t.Fatalf("%d columns: a line of %d: %s\n%s", columns, console.TextWidth(line), line, out)
				}
			}
			if whole := strings.NewReplacer("\n", "", ">", "", " ", "").Replace(out); !strings.Contains(out, "otter-7k") || strings.Count(whole, "trust-y") < 14 {
				t.Fatalf("something is missing:\n%s", out)
			}
		}
	}
}
