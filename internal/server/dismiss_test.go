package server

import (
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// TestDismiss: what an agent holds is free when its key is revoked or its owner disabled,
// on whichever replica that happened, and the agent's calls are refused.
func TestDismiss(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*auth.Authenticator, auth.Key) error{
		"a revoked key": func(a *auth.Authenticator, k auth.Key) error {
			_, err := a.RevokeKey(t.Context(), k.ID, "")
			return err
		},
		"a disabled person": func(a *auth.Authenticator, k auth.Key) error { return a.DisablePerson(t.Context(), k.Owner) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, Options{})
			if _, _, err := s.board.Create(t.Context(), board.Actor{Principal: "bob", Person: true}, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
				t.Fatal(err)
			}
			k, secret, err := s.keys.CreateKey(t.Context(), auth.NewKey{Owner: "eve", Project: "web", Role: auth.Worker})
			if err != nil {
				t.Fatal(err)
			}
			eve, ada := s.client(secret.Reveal(), newest), s.client(s.key("web", auth.Worker, false), newest)
			if got := eve.tool("get_next_task", `{}`); !strings.Contains(got.text, "web-1 is yours") {
				t.Fatalf("eve got %s", got.text)
			}
			// Another replica's doing: this one hears of it from the store.
			if err := end(auth.New(s.store, nil), k); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if got := ada.tool("get_next_task", `{"wait_seconds":15}`); !strings.Contains(got.text, "web-1 is yours") || time.Since(begun) > 5*time.Second {
				t.Errorf("after %v ada got %s", time.Since(begun), got.text)
			}
			if got := eve.tool("get_next_task", `{}`); got.status != 401 {
				t.Errorf("eve's next call was answered %d, want 401", got.status)
			}
			d, err := s.board.Get(t.Context(), board.ID{Project: "web", No: 1}, 10)
			if err != nil || d.Attempts[0].Cause != board.CauseReleased || d.Task.Failures != 0 {
				t.Errorf("eve's attempt ended as %+v with %d failures, %v, want it released", d.Attempts[0], d.Task.Failures, err)
			}
		})
	}
}
