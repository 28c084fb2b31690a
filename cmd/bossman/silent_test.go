package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/rogpeppe/go-internal/testscript"
)

// silent makes a board in which an agent took a task some time ago, and has not called
// since: silent FILE 47m. The agent stays connected until the script ends, or leaves at
// once: silent FILE 47m left.
func silent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: silent FILE DURATION [left|OWNER [SESSION]]")
	}
	ago, err := time.ParseDuration(args[1])
	ts.Check(err)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, ts.MkAbs(args[0]), &sqlite.Options{Clock: func() time.Time { return time.Now().Add(-ago) }})
	ts.Check(err)
	ts.Defer(func() { store.Close() })
	b := board.New(store, &board.Options{Home: &board.Project{Slug: "web"}})
	_, _, err = b.Create(ctx, board.Actor{Principal: "local"}, board.NewTask{Project: "web", Title: "Think", Lease: 24 * time.Hour}, "")
	ts.Check(err)
	owner := "p-thinker"
	if len(args) > 2 && args[2] != "left" {
		owner = args[2]
	}
	store.Attend(owner)
	wish := board.Wish{Projects: []string{"web"}}
	if len(args) > 3 { // a session of a client in the repository
		wish.Session = args[3]
		wish.Where.Dir = filepath.Dir(filepath.Dir(filepath.Dir(ts.MkAbs(args[0]))))
		wish.Where.Host, err = os.Hostname()
		ts.Check(err)
	}
	_, err = b.Next(ctx, board.Actor{Principal: "local", Owner: owner}, wish)
	ts.Check(err)
	if len(args) > 2 && args[2] == "left" {
		ts.Check(b.Leave(ctx, owner))
	}
}
