package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// An Act is something that somebody did at a page, or was refused.
type Act struct {
	Principal string
	Who       Who
	Method    string // of the form, and its path
	Verb      string
	Project   string
	Task      board.ID
	// Via is how it was done, if not by a form of a page.
	Via string
	// CreatedKey is the id of a key that it created.
	CreatedKey string
	// Status is the HTTP status of the answer.
	Status int
	Took   time.Duration
	// Stranger is set if the server did not let them in. Of such acts and other refused requests there is one line in a
	// second.
	Stranger bool
}

// Act adds a line for an act to the audit stream.
func (t *Telemetry) Act(ctx context.Context, a Act) {
	if t.audit == nil {
		return
	}
	if r, ok := ctx.Value(transportKey{}).(*httpRequest); ok {
		r.audited.Store(true)
	}
	x := &auditLine{
		Time: time.Now().UTC(), Principal: clip(a.Principal), Name: clip(a.Who.Name), Owner: clip(a.Who.Owner), Kind: clip(a.Who.Kind), Key: clip(a.Who.Key),
		Method: a.Method, Verb: a.Verb, Via: a.Via, CreatedKey: clip(a.CreatedKey), Outcome: resultOK, Seconds: a.Took.Seconds(),
	}
	if board.ValidSlug(a.Project) {
		x.Project = a.Project
	}
	if !a.Task.IsZero() {
		x.Task = a.Task.String()
	}
	if a.Status >= http.StatusBadRequest {
		x.Code = a.Status
		switch {
		case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden || a.Status == http.StatusTooManyRequests:
			x.Outcome = "denied"
		case a.Status < http.StatusInternalServerError:
			x.Outcome = "failed"
		default:
			x.Outcome = resultError
		}
	}
	if a.Stranger {
		t.audit.addLimited(x)
		return
	}
	t.audit.add(x.encode())
}
