package configcli

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// trustCLI is bossman trust on a console.
type trustCLI struct {
	*console.Console
	user string
}

// Trust returns bossman trust. load reads the settings; user is the name of who runs it.
func Trust(out *console.Console, load func() (*config.Settings, error), user string) *cobra.Command {
	c := &trustCLI{out, user}
	var yes, revoke bool
	cmd := &cobra.Command{
		Use: "trust", Short: "Read and accept the commands that this repository brings", Args: cobra.NoArgs,
		Long: `Trust shows the check and the setup in the project's .bossman/config.toml and asks
whether Bossman may run them. Until you accept them, they do not run.

A check runs at every report of "done", on this machine, outside the agent's sandbox and
with your rights, and it runs code that an agent has written. A setup runs in the same way,
before bossman work starts an agent in a worktree. What you accept is stored
outside the repository and stays in force as you read it: a later change of the file, on
whatever branch, has no effect until you run this command again.

Where a check runs, git reads the files, and runs filters for that. Trust also shows those
that the clone's own .git/config names, and commands of it with which git connects to
a remote repository, such as a credential helper, settings for that, such as http.proxy, and
the hook pre-push, in .git/hooks or in a worktree, and the address of a remote repository that is a
directory of this machine, whose own hooks run at a push: a project that lands its work there uses them. A hook is accepted with all files
beside it as they are now, by their sum. What your own configuration of git names, such as
git-lfs, needs no acceptance.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.RefuseAgent(); err != nil {
				return err
			}
			s, err := load()
			if err != nil {
				return err
			}
			root, state, err := project(s)
			if err != nil {
				return err
			}
			if revoke {
				return c.revoke(state)
			}
			own, err := newCommands(cmd.Context(), root, state)
			if err != nil {
				return err
			}
			return c.accept(cmd, state, own, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "accept without asking, for scripts that people write")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "withdraw what was accepted")
	return cmd
}

// trustJSON is the answer of bossman trust with --json.
type trustJSON struct {
	File     string   `json:"file"`
	InForce  []string `json:"in_force"`
	Proposed []string `json:"proposed,omitzero"`
	// Setup is the setup that is in force, and NewSetup the one of the file, if it is not accepted.
	Setup    []string `json:"setup,omitzero"`
	NewSetup []string `json:"new_setup,omitzero"`
	// Filters are commands of the clone's own configuration of git that are not accepted, and Remote
	// those of the clone with which git connects to a remote repository, or that run before a push.
	Filters  []string `json:"filters,omitzero"`
	Remote   []string `json:"remote,omitzero"`
	Accepted bool     `json:"accepted"`
}

// ownCommands are commands of the clone's own that are not accepted: those that git
// runs for its files, and those with which it connects to a remote repository, or that run before a push.
type ownCommands struct{ filters, remote []string }

func (o ownCommands) all() []string { return slices.Concat(o.filters, o.remote) }

// project returns the top of the project, and where its check stands. If the board is not in a project, such
// as one on a server, it is the project of the working directory; root is empty if there is none.
func project(s *config.Settings) (root string, state config.CheckState, err error) {
	at, err := s.Location()
	if err != nil {
		return "", state, err
	}
	if at.Root != "" {
		state, err = s.Check()
		return at.Root, state, err
	}
	dir, err := s.WorkDir()
	if err != nil {
		return "", state, err
	}
	if repo, err := git.Find(dir); err == nil && repo.Foreign == "" {
		root = repo.Root
	}
	state, err = s.CheckAt(dir)
	return root, state, err
}

// newCommands lists the commands of the clone's own configuration that are not accepted.
func newCommands(ctx context.Context, root string, state config.CheckState) (own ownCommands, err error) {
	repo, ok := git.At(root)
	if root == "" || !ok || git.Installed() != nil {
		return own, nil
	}
	if own.filters, err = repo.Filters(ctx); err == nil {
		own.remote, err = repo.RemoteCommands(ctx)
	}
	own.filters = slices.DeleteFunc(own.filters, state.Trust.Accepts)
	own.remote = slices.DeleteFunc(own.remote, state.Trust.Accepts)
	return own, err
}

func (c *trustCLI) accept(cmd *cobra.Command, state config.CheckState, own ownCommands, yes bool) error {
	filters := own.all()
	answer := trustJSON{File: state.File, InForce: checkLines(state.InForce), Proposed: checkLines(state.Proposed), Setup: state.Trust.Setup.Lines(), NewSetup: state.NewSetup.Lines(), Filters: own.filters, Remote: own.remote}
	if state.Proposed == nil && len(filters) == 0 && state.Unseen != nil {
		return state.Unseen
	}
	if state.Proposed == nil && state.NewSetup == nil && len(filters) == 0 {
		answer.Accepted = state.Trust.Check != nil || state.Trust.Setup != nil || len(state.Trust.Filters) > 0
		if c.JSON {
			return c.PrintJSON(answer)
		}
		c.nothingNew(state)
		return nil
	}
	if !yes || !c.JSON {
		c.show(state, own)
	}
	if !yes {
		if !console.IsTerminal(c.Stdin) {
			return console.Errorf(console.Denied, "run it in a terminal, or read the above and add --yes", "nobody was asked: standard input is not a terminal")
		}
		if len(own.remote) > 0 {
			c.Linef("The commands for remote repositories will run when work is pushed or fetched, with your rights and outside any sandbox.")
		}
		if state.Proposed != nil || len(own.filters) > 0 {
			c.Linef("This will run at every report of \"done\", with your rights and outside any sandbox of the agent.")
		}
		if state.NewSetup != nil {
			c.Linef("The setup will run when bossman work prepares a worktree, with your rights and outside any sandbox.")
		}
		line, err := c.Prompt(cmd.Context(), "Accept it? [y/N] ")
		if err != nil {
			return err
		}
		if s := strings.ToLower(line); s != "y" && s != "yes" {
			return console.Errorf(console.Denied, "", "not accepted; nothing has changed")
		}
	}
	state.Trust.Filters = append(state.Trust.Filters, filters...)
	state.Trust.Setup = cmp.Or(state.NewSetup, state.Trust.Setup)
	if err := state.Trust.Accept(cmp.Or(state.Proposed, state.Trust.Check), c.user, time.Now()); err != nil {
		return err
	}
	answer.Accepted = true
	if state.Proposed != nil {
		answer.InForce = checkLines(state.Proposed)
	}
	answer.Setup = state.Trust.Setup.Lines()
	if c.JSON {
		return c.PrintJSON(answer)
	}
	switch {
	case state.Proposed != nil:
		c.Linef("Accepted. Reports of done are now checked with it.")
	case len(own.filters) > 0:
		c.Linef("Accepted. Git may run them to read the files of this clone.")
	}
	if len(own.remote) > 0 {
		c.Linef("Accepted. Git may run the commands for remote repositories to land work there.")
	}
	if state.NewSetup != nil {
		c.Linef("Accepted. bossman work now prepares worktrees with the setup.")
	}
	return nil
}

// nothingNew writes what is in force, if there is nothing to accept.
func (c *trustCLI) nothingNew(state config.CheckState) {
	switch {
	case state.Withdrawn:
		c.Linef("%s has no [check]. The one that %s accepted stays in force:", state.File, state.Trust.By)
		c.showCheck(state.InForce)
		c.Linef("To withdraw it: bossman trust --revoke")
	case state.Trust.Check != nil:
		c.Linef("Nothing to accept: the check is as %s accepted it.", state.Trust.By)
		c.showCheck(state.InForce)
	case state.InForce != nil:
		c.Linef("Nothing to accept. The check in force:")
		c.showCheck(state.InForce)
	case state.Trust.Setup == nil:
		c.Linef("Nothing to accept: %s has no [check].", state.File)
	}
	switch {
	case state.NoSetup:
		c.Linef("%s has no setup in [work]. The one that %s accepted stays in force:", state.File, state.Trust.By)
		c.showLines(state.Trust.Setup.Lines())
		c.Linef("To withdraw all that was accepted: bossman trust --revoke")
	case state.Trust.Setup != nil:
		c.Linef("The setup of worktrees is as %s accepted it:", state.Trust.By)
		c.showLines(state.Trust.Setup.Lines())
	}
}

// show writes what would be accepted.
func (c *trustCLI) show(state config.CheckState, own ownCommands) {
	if state.Proposed != nil {
		c.Linef("The check in %s:", state.File)
		c.showCheck(state.Proposed)
		if old := state.Moved; old != nil {
			c.Linef("%s accepted a check when this repository was %s:", old.By, old.Repository)
			c.showCheck(old.Check)
		}
		if old := state.Trust.Check; old != nil {
			c.Linef("In force until you accept it:")
			c.showCheck(old)
		}
	}
	if state.NewSetup != nil {
		c.Linef("The setup in %s, which prepares worktrees for bossman work:", state.File)
		c.showLines(state.NewSetup.Lines())
		if old := state.Trust.Setup; old != nil {
			c.Linef("In force until you accept it:")
			c.showLines(old.Lines())
		}
	}
	if len(own.filters) > 0 {
		c.Linef("Commands in this clone's own configuration of git, which git runs for its files, and settings with which a filter runs some or writes elsewhere:")
		c.showQuoted(own.filters)
	}
	if len(own.remote) > 0 {
		c.Linef("Commands of this clone's own, which git runs to connect to a remote repository or before a push, settings by which it sends or writes something elsewhere then, and remote repositories on this machine, whose hooks run:")
		c.showQuoted(own.remote)
	}
}

func (c *trustCLI) showQuoted(commands []string) {
	for _, command := range commands {
		c.showCommand(fmt.Sprintf("%q", command))
	}
}

func (c *trustCLI) revoke(state config.CheckState) error {
	if state.Trust.Check == nil && state.Moved == nil && state.Unseen == nil && state.Trust.Setup == nil && len(state.Trust.Filters) == 0 {
		return console.Errorf(console.NothingToDo, "", "nothing was accepted here")
	}
	state.Trust.Filters, state.Trust.Setup = nil, nil
	if err := state.Trust.Accept(nil, c.user, time.Now()); err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(trustJSON{File: state.File})
	}
	c.Linef("Withdrawn. The repository's check, setup and filters do not run any more.")
	return nil
}

// showCheck writes a check as its file has it.
func (c *trustCLI) showCheck(check *config.Check) { c.showLines(checkLines(check)) }

func (c *trustCLI) showLines(lines []string) {
	for _, line := range lines {
		c.showCommand(line)
	}
}

// showCommand shows a line of others' configuration so that all of it is seen: wrapped behind a
// margin, and with long runs of spaces, which could push the rest off the screen, as numbers.
func (c *trustCLI) showCommand(line string) {
	line = spaces.ReplaceAllStringFunc(line, func(s string) string { return fmt.Sprintf(" <%d spaces> ", len([]rune(s))) })
	c.Quoted("  ", line)
}

var spaces = regexp.MustCompile(`[\p{Zs}\t]{4,}`)

func checkLines(c *config.Check) []string {
	if c == nil {
		return nil
	}
	return c.Lines()
}
