package doctorcli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/store/sqlite"
)

const (
	// clockSlack is how far clocks may differ.
	clockSlack = 10 * time.Minute
	// patience bounds a call to a database or a server.
	patience = 10 * time.Second
	// maxClaims is how many stale claims are named.
	maxClaims = 3
)

// lookAtFile looks at a board in a file.
func (c *cli) lookAtFile(ctx context.Context) {
	path := c.location.Path
	file, err := sqlite.Look(ctx, path)
	switch {
	case errors.Is(err, board.ErrFull):
		c.fail("database", err, "free space on that disk")
		return
	case err != nil:
		c.fail("database", fmt.Errorf("%s cannot be used: %w", c.tilde(path), err), "restore a backup, or name another board with --board")
		return
	case file.ReadOnly != nil:
		fix := "in a sandbox, let commands write to the directory of that file; otherwise mount the disk writable"
		if errors.Is(file.ReadOnly, fs.ErrPermission) {
			fix = "chmod u+rwX " + console.ShellWords(path) + ", and its directory; it must be yours"
		}
		c.problem("database", fmt.Sprintf("the board cannot be written, so no agent can take a task: %v", file.ReadOnly), fix)
	}
	if !file.Exists {
		c.ok("board", "none yet; the first task makes it: "+c.tilde(path))
		return
	}
	c.ok("board", c.tilde(path))
	if file.Schema < file.Newest {
		upgraded := c.repair("database", fmt.Sprintf("the schema is version %d, and this program needs %d: the file was last used by an older Bossman", file.Schema, file.Newest),
			"bossman doctor --fix, or any command that uses the board: it is upgraded, and a copy is kept",
			func() (string, error) {
				store, err := sqlite.Open(ctx, path, nil)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("upgraded the schema from version %d to %d; the file as it was: %s.v%d.bak", file.Schema, file.Newest, c.tilde(path), file.Schema), store.Close()
			})
		if !upgraded {
			return
		}
	}
	store, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		c.fail("database", err, "restore a backup: bossman board backup makes them")
		return
	}
	defer store.Close()
	if file.ReadOnly == nil && file.Schema >= file.Newest {
		size := ""
		if info, err := os.Stat(path); err == nil {
			size = ", " + bytesText(uint64(info.Size()))
		}
		c.ok("database", fmt.Sprintf("SQLite, schema %d%s", file.Schema, size))
	}
	ahead, err := store.Ahead(ctx)
	switch {
	case err != nil:
		c.fail("database", err, "bossman board check looks for faults; restore a backup if there are any")
		return
	case ahead > clockSlack:
		c.problem("clock", fmt.Sprintf("this machine's clock is %s behind the times in the board: it is wrong now, or it or another one was ahead once", board.Span(ahead)),
			"set the clock; if it is right: bossman board repair-clock")
	default:
		c.ok("clock", "agrees with the board")
	}
	b := board.New(store, nil)
	c.lookAtClaims(ctx, store, b, "bossman doctor --fix, or any command that uses the board: it hands the task to the next agent", func() error { return b.EndStale(ctx) })
}

// lookAtDatabase looks at the database of a server.
func (c *cli) lookAtDatabase(ctx context.Context, s *config.Settings) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, err := c.host.Database(ctx, s)
	if err != nil {
		c.fail("database", err, "check that the database is running and that this machine can reach it")
		return
	}
	defer store.Close()
	c.ok("database", config.HidePassword(s.DB))
	var now time.Time
	if err := store.Read(ctx, func(r board.Reader) (err error) { now, err = r.Now(); return err }); err != nil {
		c.fail("database", err, "check the log of PostgreSQL")
		return
	}
	switch off := time.Since(now); {
	case off.Abs() > clockSlack && off < 0:
		c.problem("clock", fmt.Sprintf("this machine's clock is %s behind that of the database", board.Span(-off)), "set the clock of this machine, or that of the database's")
	case off.Abs() > clockSlack:
		c.problem("clock", fmt.Sprintf("this machine's clock is %s ahead of that of the database", board.Span(off)), "set the clock of this machine, or that of the database's")
	default:
		c.ok("clock", "agrees with the database")
	}
	c.lookAtClaims(ctx, store, board.New(store, nil), "start a server, which ends them: bossman serve", nil)
}

// lookAtClaims looks for claims whose holders are gone. end ends them, nil if that is not ours to do.
func (c *cli) lookAtClaims(ctx context.Context, store board.Store, b *board.Board, fix string, end func() error) {
	claims, err := b.Claims(ctx, board.ClaimFilter{})
	var now time.Time
	if err == nil {
		err = store.Read(ctx, func(r board.Reader) (err error) { now, err = r.Now(); return err })
	}
	if err != nil {
		c.fail("claims", err, "bossman board check")
		return
	}
	// The next sweep of a process that is at work ends what has just expired.
	const sweep = 2 * time.Minute
	var stale []string
	for _, claim := range claims {
		switch {
		case claim.Killed:
			stale = append(stale, fmt.Sprintf("%v of %s, whose process was killed", claim.Task, claim.Worker.Name))
		case now.Sub(claim.LeaseUntil) > sweep:
			stale = append(stale, fmt.Sprintf("%v of %s, whose lease ended %s ago", claim.Task, claim.Worker.Name, board.Span(now.Sub(claim.LeaseUntil))))
		}
	}
	if len(stale) == 0 {
		text := console.Count(len(claims), "task") + " in progress"
		if len(claims) == 0 {
			text = "no task is in progress"
		}
		c.ok("claims", text)
		return
	}
	text := "a claim keeps its task from other agents though nobody works on it: " + stale[0]
	if len(stale) > 1 {
		text = fmt.Sprintf("%d claims keep their tasks from other agents though nobody works on them: ", len(stale)) + joinFew(stale, maxClaims)
	}
	if end == nil {
		c.problem("claims", text, fix)
		return
	}
	c.repair("claims", text, fix, func() (string, error) {
		return "ended " + joinFew(stale, maxClaims), end()
	})
}

// joinFew lists the first texts of a list.
func joinFew(list []string, most int) (text string) {
	for i, s := range list {
		if i == most {
			return fmt.Sprintf("%s, and %d more", text, len(list)-most)
		}
		if i > 0 {
			text += "; "
		}
		text += s
	}
	return text
}
