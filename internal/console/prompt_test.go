package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"testing"
)

// Prompt and ReadFile return when the context ends, without waiting for input.
func TestPrompt_interrupted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	c := testConsole()
	c.Stdin, c.Out = r, bufio.NewWriter(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Prompt(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Prompt = %v, want %v", err, context.Canceled)
	}
	if _, err := c.ReadFile(ctx, "-", MaxInput); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadFile = %v, want %v", err, context.Canceled)
	}
}
