// Package notify tells a person about new questions, with a command of the user.
package notify

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
)

// timeout is how long the command may take.
const timeout = 10 * time.Second

// A Notifier runs the user's notify command for each new question, with the question as
// JSON on its standard input. It runs in the user's home directory: some programs load parts
// of themselves from the current directory, and agents write there.
type Notifier struct {
	Command []string
	Log     *slog.Logger

	running sync.WaitGroup
}

// Asked starts the command for a question, and does not wait for it.
func (n *Notifier) Asked(q board.Question) {
	if len(n.Command) == 0 {
		return
	}
	n.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		text, err := console.JSON(boardjson.FromQuestion(q, time.Time{}))
		if err != nil {
			n.Log.Error("a question could not be written", "question", q.ID.String(), "err", err)
			return
		}
		cmd, err := git.ProgramsOutside().Command(ctx, n.Command[0], n.Command[1:]...)
		if err != nil {
			n.Log.Warn("the notify command cannot be run", "question", q.ID.String(), "err", err)
			return
		}
		cmd.Dir = homeDir()
		cmd.Env = append(cmd.Env, "PWD="+cmd.Dir)
		cmd.Stdin = bytes.NewReader(append(text, '\n'))
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			n.Log.Warn("the notify command failed", "question", q.ID.String(), "err", err, "output", string(out[:min(len(out), 400)]))
		}
	})
}

// homeDir is the user's home directory, or the root directory if there is none.
func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		if info, err := os.Stat(home); err == nil && info.IsDir() {
			return home
		}
	}
	return string(filepath.Separator)
}

// Wait waits for the commands to end.
func (n *Notifier) Wait() { n.running.Wait() }
