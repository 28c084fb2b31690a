package boardcli

import (
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// ImportProgress returns a function that shows the progress of an import; it may be called
// for every task.
func ImportProgress(out *console.Console) func(done, all int) {
	p := out.Progress()
	every := 5 * time.Second
	if p.Terminal() {
		every = 200 * time.Millisecond
	}
	started := time.Now()
	last := started
	return func(done, all int) {
		now := time.Now()
		if now.Sub(last) < every && (done < all || last.Equal(started)) {
			return
		}
		last = now
		p.Set(fmt.Sprintf("imported %d of %d", done, all))
		if done == all {
			p.Clear()
		}
	}
}

// ImportAdvice is the next step after an import that failed.
func ImportAdvice(out board.Imported) string {
	if out.Made == 0 {
		return "nothing was imported"
	}
	return fmt.Sprintf("%s were imported as drafts; repeat the command to continue", console.Count(out.Made, "task"))
}
