package main

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
)

func TestAdviseServer(t *testing.T) {
	err := adviseServer(&sqlite.NetworkError{Path: "/mnt/board.db", Kind: "nfs"})
	for _, want := range []string{"/mnt/board.db", "nfs", "bossman serve --http"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("adviseServer = %q, want %q in it", err, want)
		}
	}
	if err := adviseServer(board.ErrUnavailable); err != board.ErrUnavailable {
		t.Errorf("adviseServer(%v) = %v, want the same error", board.ErrUnavailable, err)
	}
}
