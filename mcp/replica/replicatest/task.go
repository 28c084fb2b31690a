package replicatest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// TaskStore tests a replica.TaskStore. open returns a new empty one each time.
func TaskStore(t *testing.T, open func(t *testing.T) replica.TaskStore) {
	for name, test := range map[string]func(*testing.T, replica.TaskStore){
		"round trip": roundTrip, "copies": ownCopy, "rejected change": refusedChange, "not found": noCall, "concurrent updates": overlap,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// fullCall returns a call with all fields set. Times are in whole microseconds.
func fullCall(id string) *replica.TaskRecord {
	now := time.Now().UTC().Truncate(time.Microsecond)
	return &replica.TaskRecord{
		ID: id, Owner: "key-1", Status: replica.TaskInputRequired, Message: "half \"done\"\nwith it, ß",
		Created: now, Updated: now.Add(time.Second), TTL: time.Hour + time.Microsecond,
		Result: json.RawMessage(`{"content":[{"type":"text","text":"\u0000 \"x\" 1e400"}],"n":12345678901234567890}`),
		Error:  jsonrpc.Errorf(-32603, "it broke").With(map[string]any{"why": "x"}),
		Requests: map[string]json.RawMessage{
			"name": json.RawMessage(`{"method":"elicitation/create","params":{}}`), "": json.RawMessage(`null`),
		},
		Answers:         map[string]json.RawMessage{"k~2": json.RawMessage(`{"action":"accept"}`)},
		CancelRequested: true, LeaseExpires: now.Add(30 * time.Second),
	}
}

func plain(d *replica.TaskRecord) replica.TaskRecord {
	c := *d
	c.Created, c.Updated, c.LeaseExpires = c.Created.UTC(), c.Updated.UTC(), c.LeaseExpires.UTC()
	return c
}

func wantCall(t *testing.T, s replica.TaskStore, want *replica.TaskRecord) {
	t.Helper()
	got, err := s.Get(t.Context(), want.ID)
	if err != nil {
		t.Fatalf("Get(%s) = %v", want.ID, err)
	}
	if !reflect.DeepEqual(plain(got), plain(want)) {
		t.Errorf("Get(%s) = %+v\nwant %+v", want.ID, plain(got), plain(want))
	}
}

func roundTrip(t *testing.T, s replica.TaskStore) {
	full := fullCall("full")
	bare := &replica.TaskRecord{ID: "bare", Status: replica.TaskWorking, Created: full.Created, Updated: full.Created, LeaseExpires: full.Created}
	long := fullCall("long")
	long.Result = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for _, d := range []*replica.TaskRecord{full, bare, long} {
		if err := s.Create(t.Context(), d); err != nil {
			t.Fatalf("Create(%s) = %v", d.ID, err)
		}
		wantCall(t, s, d)
	}
	next := fullCall("full")
	next.Status, next.Requests, next.Answers, next.Error, next.TTL = replica.TaskCompleted, nil, nil, nil, 2*time.Hour
	got, err := s.Update(t.Context(), "full", func(d *replica.TaskRecord) error {
		*d = *next
		return nil
	})
	if err != nil || !reflect.DeepEqual(plain(got), plain(next)) {
		t.Errorf("Update = %+v, %v\nwant %+v", got, err, next)
	}
	wantCall(t, s, next)
	wantCall(t, s, bare)
}

func ownCopy(t *testing.T, s replica.TaskStore) {
	mine := fullCall("a")
	if err := s.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	want := fullCall("a")
	want.Created, want.Updated, want.LeaseExpires = mine.Created, mine.Updated, mine.LeaseExpires
	spoil := func(d *replica.TaskRecord) {
		d.Status = replica.TaskFailed
		d.Requests["another"] = json.RawMessage(`1`)
		delete(d.Answers, "k~2")
	}
	spoil(mine)
	wantCall(t, s, want)
	got, err := s.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	spoil(got)
	wantCall(t, s, want)
	got, err = s.Update(t.Context(), "a", func(*replica.TaskRecord) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	spoil(got)
	wantCall(t, s, want)
}

func refusedChange(t *testing.T, s replica.TaskStore) {
	want := fullCall("a")
	if err := s.Create(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	_, err := s.Update(t.Context(), "a", func(d *replica.TaskRecord) error {
		d.Status = replica.TaskFailed
		delete(d.Requests, "name")
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Errorf("Update = %v, want the change's error", err)
	}
	wantCall(t, s, want)
}

func noCall(t *testing.T, s replica.TaskStore) {
	if _, err := s.Get(t.Context(), "none"); !errors.Is(err, mcp.ErrNotFound) {
		t.Errorf("Get(none) = %v, want ErrNotFound", err)
	}
	_, err := s.Update(t.Context(), "none", func(*replica.TaskRecord) error {
		t.Error("change was called for a call that does not exist")
		return nil
	})
	if !errors.Is(err, mcp.ErrNotFound) {
		t.Errorf("Update(none) = %v, want ErrNotFound", err)
	}
}

// overlap checks that concurrent updates do not lose each other's answers.
func overlap(t *testing.T, s replica.TaskStore) {
	if err := s.Create(t.Context(), &replica.TaskRecord{ID: "a", Status: replica.TaskWorking}); err != nil {
		t.Fatal(err)
	}
	const writers, rounds = 6, 20
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range rounds {
				_, err := s.Update(t.Context(), "a", func(d *replica.TaskRecord) error {
					if d.Answers == nil {
						d.Answers = map[string]json.RawMessage{}
					}
					d.Answers[string(rune('a'+i))+string(rune('a'+j))] = json.RawMessage(`1`)
					return nil
				})
				if err != nil {
					t.Errorf("Update = %v", err)
				}
			}
		})
	}
	wg.Wait()
	d, err := s.Get(t.Context(), "a")
	if err != nil || len(d.Answers) != writers*rounds {
		t.Errorf("%d answers are left, %v, want %d", len(d.Answers), err, writers*rounds)
	}
}
