package operate

import (
	"os"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// TestStart follows docs/start.md in an empty directory, with an empty home. Where the page says
// that a person types an answer, the script is the person.
func TestStart(t *testing.T) {
	page, err := os.ReadFile(harness.Dir("..", "docs", "start.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps := blocks(string(page), "start")
	if len(steps) < 8 {
		t.Fatalf("the page has %d steps; has it lost its marks?", len(steps))
	}
	m := newMachine(t)
	m.env = append(m.env, "BOSSMAN_PERSON=1")
	out := m.run(t, "docs/start.md", strings.Join(steps, ""))
	for _, want := range []string{
		"shop-2  blocked  Write a page about returns",
		"shop-1 landed as",
		"shop-2 landed as",
		"2 done · 1 waiting for an answer",
		"Which colour has the shop?",
		"q-1 is answered: blue",
		"shop-3 landed as",
		"tests, observed: ! grep -rn TODO",
		"\"blue\"", // in the file that has landed
		"3 done",
		"next: nothing; all tasks are done",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nowhere it says %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}
