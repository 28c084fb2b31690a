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
			if got := ada.tool("get_next_task", `{"wait_seconds":15}`); !strings.Contains(got.text, "web-1 is yours") || time.Since(begun) > 12*time.Second {
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

// TestDismiss_waiting: a key whose rights ended does not take its task again, by a call that still waits with what it was allowed.
func TestDismiss_waiting(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*auth.Authenticator, auth.Key) error{
		"a project removed": func(a *auth.Authenticator, k auth.Key) error {
			_, err := a.LowerKey(t.Context(), k.ID, "api", auth.Worker, "")
			return err
		},
		"a role lowered": func(a *auth.Authenticator, k auth.Key) error {
			_, err := a.LowerKey(t.Context(), k.ID, auth.EveryProject, auth.Viewer, "")
			return err
		},
		"its parent lowered": func(a *auth.Authenticator, k auth.Key) error {
			_, err := a.LowerKey(t.Context(), k.Parent, "api", auth.Worker, "")
			return err
		},
		"its parent revoked": func(a *auth.Authenticator, k auth.Key) error {
			_, err := a.RevokeKey(t.Context(), k.Parent, "")
			return err
		},
		"a key revoked": func(a *auth.Authenticator, k auth.Key) error {
			_, err := a.RevokeKey(t.Context(), k.ID, "")
			return err
		},
		"a person disabled": func(a *auth.Authenticator, k auth.Key) error { return a.DisablePerson(t.Context(), k.Owner) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, Options{})
			if _, _, err := s.board.Create(t.Context(), board.Actor{Principal: "bob", Person: true}, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
				t.Fatal(err)
			}
			parent, _, err := s.keys.CreateKey(t.Context(), auth.NewKey{Owner: "eve", Person: true, Project: auth.EveryProject, Role: auth.Worker})
			if err != nil {
				t.Fatal(err)
			}
			k, secret, err := s.keys.CreateKey(t.Context(), auth.NewKey{Owner: "eve", Person: true, Project: auth.EveryProject, Role: auth.Worker, Machine: "laptop", Parent: parent.ID, Expires: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			eve := s.client(secret.Reveal(), newest)
			if got := eve.tool("get_next_task", `{"project":"web"}`); !strings.Contains(got.text, "web-1 is yours") {
				t.Fatalf("eve got %s", got.text)
			}
			waited := make(chan struct{})
			go func() {
				defer close(waited)
				eve.tool("get_next_task", `{"worker":"new","wait_seconds":30}`)
			}()
			<-s.waits
			if err := end(auth.New(s.store, nil), k); err != nil {
				t.Fatal(err)
			}
			<-waited
			ada := s.client(s.key("web", auth.Worker, false), newest)
			if got := ada.tool("get_next_task", `{"wait_seconds":20}`); !strings.Contains(got.text, "web-1 is yours") {
				t.Errorf("ada got %s", got.text)
			}
			d, err := s.board.Get(t.Context(), board.ID{Project: "web", No: 1}, 10)
			if err != nil || len(d.Attempts) != 2 || d.Task.Failures != 0 {
				t.Errorf("%d attempts with %d failures, %v, want eve's and ada's", len(d.Attempts), d.Task.Failures, err)
			}
		})
	}
}
