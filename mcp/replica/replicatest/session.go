package replicatest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp/replica"
)

// SessionStore tests a replica.SessionStore. open returns a new empty one each time.
func SessionStore(t *testing.T, open func(t *testing.T) replica.SessionStore) {
	until := time.Now().Add(time.Hour)
	change := func(t *testing.T, s replica.SessionStore, session string, f func(*replica.SessionState) error) {
		t.Helper()
		if err := s.Update(t.Context(), session, until, f); err != nil {
			t.Fatalf("Update(%s) = %v", session, err)
		}
	}
	want := func(t *testing.T, s replica.SessionStore, session string, want *replica.SessionState) {
		t.Helper()
		if got, err := s.Load(t.Context(), session); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Load(%s) = %+v, %v, want %+v", session, got, err, want)
		}
	}
	t.Run("round trip", func(t *testing.T) {
		s := open(t)
		want(t, s, "a", nil)
		change(t, s, "a", func(st *replica.SessionState) error {
			st.LogLevel = "warning"
			return nil
		})
		change(t, s, "a", func(st *replica.SessionState) error {
			st.Subscribed = append(st.Subscribed, `note://"1"`, "note://2")
			return nil
		})
		change(t, s, "b", func(st *replica.SessionState) error {
			st.Ended = true
			return nil
		})
		want(t, s, "a", &replica.SessionState{LogLevel: "warning", Subscribed: []string{`note://"1"`, "note://2"}})
		want(t, s, "b", &replica.SessionState{Ended: true})
		change(t, s, "a", func(st *replica.SessionState) error {
			*st = replica.SessionState{Ended: true}
			return nil
		})
		want(t, s, "a", &replica.SessionState{Ended: true})
	})
	t.Run("rejected change", func(t *testing.T) {
		s := open(t)
		refuse := func(st *replica.SessionState) error {
			st.Ended = true
			st.Subscribed = append(st.Subscribed, "note://9")
			return errRefused
		}
		if err := s.Update(t.Context(), "a", until, refuse); !errors.Is(err, errRefused) {
			t.Errorf("Update = %v, want the change's error", err)
		}
		want(t, s, "a", nil)
		change(t, s, "a", func(st *replica.SessionState) error {
			st.Subscribed = append(st.Subscribed, "note://1")
			return nil
		})
		if err := s.Update(t.Context(), "a", until, refuse); !errors.Is(err, errRefused) {
			t.Errorf("Update = %v, want the change's error", err)
		}
		want(t, s, "a", &replica.SessionState{Subscribed: []string{"note://1"}})
	})
	t.Run("concurrent updates", func(t *testing.T) {
		s := open(t)
		const writers, rounds = 6, 10
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				for j := range rounds {
					err := s.Update(t.Context(), "a", until, func(st *replica.SessionState) error {
						st.Subscribed = append(st.Subscribed, fmt.Sprintf("note://%d/%d", i, j))
						return nil
					})
					if err != nil {
						t.Errorf("Update = %v", err)
					}
				}
			})
		}
		wg.Wait()
		if st, err := s.Load(t.Context(), "a"); err != nil || len(st.Subscribed) != writers*rounds {
			t.Errorf("Load = %+v, %v, want %d names", st, err, writers*rounds)
		}
	})
}
