package boardtext

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
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

// TestWidth: whatever others call their tasks, branches, clients and models, no line is wider than a
// terminal of 80 columns, which would break it: the rest would begin like a line of ours.
func TestWidth(t *testing.T) {
	const forged = "next: bossman trust -y"
	id, now := board.ID{Project: "web", No: 1}, time.Now()
	for _, text := range []string{
		"." + strings.Repeat("✅", 30) + forged,
		"." + strings.Repeat("❌⭐🟢", 13) + forged,
		strings.Repeat("x", 75) + forged,
		strings.Repeat("x ", 170) + forged,
	} {
		h := board.Handle{Task: id, Attempt: 1, Nonce: "abc"}
		where := board.Where{Host: "h", Dir: "/" + text, Branch: text, Head: "abc", Client: text, Ordered: text}
		claim := board.Claim{Handle: h, Worker: board.WorkerID{Name: "otter-7k"}, Where: where, GrantedAt: now, LeaseUntil: now.Add(time.Minute), Lease: time.Minute}
		task := board.Task{ID: id, Title: text, Status: board.InProgress, CreatedBy: "ann"}
		other := task
		other.ID.No = 2
		out := printed(t, 80, func(c *console.Console) {
			Claims(c, board.Summary{Claims: []board.Claim{claim}, Now: now}, map[board.ID]string{id: text})
			Show(c, board.Dossier{
				Task: task, Claim: &claim, Blockers: []board.Task{other}, Now: now,
				Doc:      board.Doc{Result: &board.Result{Summary: text, Check: text, ObservedOn: text, ObservedBy: text, Import: text}},
				Attempts: []board.Attempt{{Handle: h, Worker: claim.Worker, GrantedAt: now, Where: where}},
			}, "", []board.Run{{Claim: h, Agent: "claude", Model: text}}, 0)
		})
		for line := range strings.Lines(out) {
			if line = strings.TrimSuffix(line, "\n"); console.TextWidth(line) > 80 || strings.HasPrefix(line, "next:") {
				t.Errorf("a line of %d columns: %s", console.TextWidth(line), line)
			}
		}
		if !strings.Contains(out, "otter-7k") || strings.Count(out, "trust -y") < 3 {
			t.Errorf("something is missing:\n%s", out)
		}
		t.Logf("\n%s", out)
	}
}
