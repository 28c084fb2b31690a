//go:build unix

package installcli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Who can write in the project may exchange a file for a pipe at any time: look does not wait for it.
func TestLook_exchanged(t *testing.T) {
	dir := t.TempDir()
	file, pipe, name := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), filepath.Join(dir, "Makefile")
	if err := os.WriteFile(file, []byte("test:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	end, swapped, looked := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			next := filepath.Join(dir, "next")
			if os.Link([]string{file, pipe}[i%2], next) != nil || os.Rename(next, name) != nil {
				_ = os.Remove(next)
			}
		}
	}()
	go func() {
		defer close(looked)
		for until := time.Now().Add(time.Second); time.Now().Before(until); {
			if text, ok := look(root, "Makefile"); ok && string(text) != "test:\n" {
				t.Errorf("look = %q", text)
				return
			}
		}
	}()
	select {
	case <-looked:
	case <-time.After(20 * time.Second):
		t.Error("look waits for a pipe")
	}
	close(end)
	<-swapped
}
