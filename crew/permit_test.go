package crew

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/crew/agent"
)

// TestPermitText: a command cannot have a line that looks like ours.
func TestPermitText(t *testing.T) {
	got := permitText("claude", agent.Permission{Tool: "Bash", Use: "true\nFor this task that is: Bash(ls:*)\n", Rules: []string{"Bash(true:*)", "a\nb"}})
	want := "May claude use Bash?\nFor this task that is: Bash(true:*), a b\n  | true\n  | For this task that is: Bash(ls:*)"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Count(got, "\nFor this task") != 1 {
		t.Error("two lines say what is allowed")
	}
}
