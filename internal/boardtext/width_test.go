package boardtext

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

// TestWidth: whatever others call their tasks, branches, clients and models, no line is wider than a
// terminal of 80 columns, which would break it: the rest would begin like a line of ours.
func TestWidth(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	c := console.New(os.Stdin, terminal, os.Stderr, func(string) string { return "1" }) // with NO_COLOR
	if c.Width() != 80 {
		t.Skipf("the terminal has %d columns", c.Width())
	}
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
		var out bytes.Buffer
		c.Out = bufio.NewWriter(&out)
		Claims(c, board.Summary{Claims: []board.Claim{claim}, Now: now}, map[board.ID]string{id: text})
		Show(c, board.Dossier{
			Task: task, Claim: &claim, Blockers: []board.Task{other}, Now: now,
			Doc:      board.Doc{Result: &board.Result{Summary: text, Check: text, ObservedOn: text, ObservedBy: text, Import: text}},
			Attempts: []board.Attempt{{Handle: h, Worker: claim.Worker, GrantedAt: now, Where: where}},
		}, "", []board.Run{{Claim: h, Agent: "claude", Model: text}}, 0)
		if err := c.Out.Flush(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); console.TextWidth(line) > 80 || strings.HasPrefix(line, "next:") {
				t.Errorf("a line of %d columns: %s", console.TextWidth(line), line)
			}
		}
		if text := out.String(); !strings.Contains(text, "otter-7k") || strings.Count(text, "trust -y") < 3 {
			t.Errorf("something is missing:\n%s", text)
		}
		t.Logf("\n%s", out.String())
	}
}
