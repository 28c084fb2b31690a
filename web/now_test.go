package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/auth"
)

// TestNow_filled shows a day of work: what needs people first, then the crew.
func TestNow_filled(t *testing.T) {
	s := newFilledSite(t)
	b := s.signedIn("ada", auth.EveryProject, auth.Lead)
	status, body := b.get("/")
	if status != http.StatusOK {
		t.Fatalf("GET / = %d %s", status, body)
	}
	for _, want := range []string{"things need you.", "wants to run <code>npx prisma migrate deploy</code>", "changes a database", "Claude Code", "Codex", "Gemini", "opencode", "finished"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if len(body) > 200<<10 {
		t.Errorf("the page has %d bytes", len(body))
	}
}
