package doctorcli

import (
	"context"
	"errors"
	"strings"

	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
)

// lookAtBoard looks at the configuration, and at the board that it names.
func (c *cli) lookAtBoard(ctx context.Context) {
	c.lookAtKeys()
	s, err := c.host.Settings()
	if err != nil {
		check, otherwise := "configuration", "correct it; bossman config show names the files"
		if console.CodeOf(err) == console.Denied {
			check = "owner"
		}
		c.fail(check, err, otherwise)
		return
	}
	c.settings = s
	if s.Broken != nil {
		c.fail("configuration", s.Broken, "correct that file")
	} else {
		c.ok("configuration", c.sources(s))
	}
	for _, text := range s.Ignored {
		c.note("configuration", "ignored: "+text, "") // a clone may have written some of it
	}
	c.location, err = s.Location()
	switch none, isNone := errors.AsType[*config.NoBoardError](err); {
	case s.DB != "":
		c.lookAtDatabase(ctx, s)
	case config.IsServer(s.Board):
		c.lookAtServer(ctx, s)
	case isNone:
		c.note("board", none.Error(), "change to your repository and run it there, or name it: bossman doctor --board DIR")
	case err != nil:
		c.fail("board", err, "name another one: bossman doctor --board DIR")
	default:
		c.lookAtFile(ctx)
	}
	c.lookAtCheck(s)
}

// sources lists the configuration files.
func (c *cli) sources(s *config.Settings) string {
	var files []string
	for _, path := range s.Files() {
		files = append(files, c.tilde(path))
	}
	if len(files) == 0 {
		return "no file, default values"
	}
	return strings.Join(files, ", ")
}

// lookAtCheck looks at the command that decides whether work is done.
func (c *cli) lookAtCheck(s *config.Settings) {
	if c.location.Root == "" {
		return
	}
	check, err := s.Check()
	switch {
	case err != nil:
		c.fail("check", err, "correct the section [check]")
	case check.Unseen != nil:
		c.fail("check", check.Unseen, "bossman trust")
	case check.Proposed != nil || check.NewSetup != nil:
		c.note("check", "a check or setup in "+c.tilde(check.File)+" is not in effect: nobody has accepted it", "bossman trust shows it, and asks")
	case check.InForce != nil:
		c.ok("check", strings.Join(check.InForce.Lines(), ", "))
	}
}
