package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"testing"
)

// Whoever is asked may go away: the program does not wait for a key that nobody
// presses.
func TestTyped_interrupted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	a := newApp()
	a.stdin, a.out = r, bufio.NewWriter(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.prompt(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("prompt = %v, want %v", err, context.Canceled)
	}
	if _, err := a.readAll(ctx, "-"); !errors.Is(err, context.Canceled) {
		t.Errorf("readAll = %v, want %v", err, context.Canceled)
	}
}
