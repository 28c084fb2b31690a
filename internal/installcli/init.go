package installcli

import (
	"context"
	"errors"
	"strings"

	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// A Start is what bossman init found or made.
type Start struct {
	Project string // the prefix of the tasks' ids
	Board   string // for people
	New     bool   // the project is made now
	Tasks   int    // how many there are
	// Root is the directory of the project, empty if the board is on a server that a flag names.
	Root string
	// Checked is set if the project has a check, or one waits to be accepted.
	Checked bool
}

// Init returns bossman init. start makes the project on the board.
func Init(out *console.Console, flags *config.Flags, lookPath func(string) (string, error), start func(context.Context) (Start, error)) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "init", Short: "Set up a repository: its board, and the agents on this machine", Args: cobra.NoArgs,
		Long: `Init makes the board of this repository, looks which agents are on this machine, and asks
whether to add Bossman to their configuration, as bossman install does for your own files. It
says what it did and what to do next. It runs nothing of the repository: a check is only
suggested.

Running it again is safe: what is there stays as it is.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := &cli{Console: out, flags: flags, lookPath: lookPath, places: clientconfig.Here()}
			if err := c.RefuseAgent(); err != nil {
				return err
			}
			s, err := start(cmd.Context())
			if err != nil {
				return err
			}
			return c.init(cmd.Context(), s, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask: add Bossman to all agents that are found")
	return cmd
}

// initJSON is the answer of bossman init with --json.
type initJSON struct {
	Project string       `json:"project"`
	Board   string       `json:"board"`
	Created bool         `json:"created"`
	Clients []string     `json:"clients"` // those on this machine
	Changes []changeJSON `json:"changes"`
	Check   []string     `json:"check,omitzero"` // suggested
	Notes   []string     `json:"notes"`
}

func (c *cli) init(ctx context.Context, s Start, yes bool) error {
	o := &options{scope: string(clientconfig.User)}
	var r report
	var titles, names, missing []string
	var absent []*clientconfig.Client
	for _, client := range clientconfig.Clients() {
		if !client.Present(c.places) || client.Elsewhere() {
			continue
		}
		names = append(names, client.ID)
		plans, err := c.plan(client, o)
		if err != nil {
			r.Notes = append(r.Notes, client.Title+": "+err.Error()+".")
			continue
		}
		for _, p := range plans {
			if p.Changed() {
				absent = append(absent, client)
				titles, missing = append(titles, client.Title), append(missing, client.ID)
				break
			}
		}
	}
	if len(absent) > 0 {
		install, err := c.agree(ctx, titles, yes)
		if err != nil {
			return err
		}
		if !install {
			r.Notes = append(r.Notes, "To add Bossman to "+join(titles)+": bossman install "+strings.Join(missing, " "))
			absent = nil
		}
	}
	var failed error
	for _, client := range absent {
		plans, err := c.plan(client, o)
		for _, p := range plans {
			if err == nil {
				err = c.do(&r, client, p, o)
			}
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.notes(c, client, o)
	}
	var check []string
	if !s.Checked && s.Root != "" {
		check = suggestCheck(s.Root)
	}
	if c.JSON {
		out := initJSON{Project: s.Project, Board: s.Board, Created: s.New, Clients: names, Changes: r.Changes, Check: check, Notes: r.Notes}
		if err := c.PrintJSON(out); err != nil {
			return err
		}
		return failed
	}
	c.summary(&s, &r, names, check)
	return failed
}

// agree asks whether to change the files of clients.
func (c *cli) agree(ctx context.Context, titles []string, yes bool) (bool, error) {
	if yes || !console.IsTerminal(c.Stdin) || c.JSON {
		return yes, nil
	}
	answer, err := c.ReadLine(ctx, "Add Bossman to the configuration of "+join(titles)+"? [Y/n] ")
	if err != nil {
		return false, err
	}
	answer = strings.ToLower(answer)
	return answer == "" || answer == "y" || answer == "yes", nil
}

// summary says what was done and what to do next.
func (c *cli) summary(s *Start, r *report, clients, check []string) {
	if s.New {
		c.Linef("The project %s has a board now: %s", s.Project, console.OneLine(s.Board))
	} else {
		c.Linef("The project %s has a board: %s", s.Project, console.OneLine(s.Board))
	}
	for _, l := range r.lines {
		c.Linef("%s", l.text)
	}
	for _, text := range r.Notes {
		c.Linef("%s", text)
	}
	if len(clients) == 0 {
		c.Linef("No agent was found on this machine. When you have one: bossman install claude, or another of %s", strings.Join(clientNames(), ", "))
	}
	c.Linef("")
	c.Linef("%s", c.Styled(console.Bold, "Next"))
	n := 0
	step := func(format string, args ...any) {
		n++
		c.Linef("%d. "+format, append([]any{n}, args...)...)
	}
	if s.Tasks == 0 {
		step(`Add a task: bossman task add "Fix the parser bug"`)
	} else {
		step("Look at the board: bossman status")
	}
	if len(check) > 0 {
		step("Let %s decide what is done: put the lines [check] and command = %q into .bossman/config.toml, then run bossman trust", console.ShellWords(check...), strings.Join(check, " "))
	}
	step(`Start an agent here and tell it "work on the board"; bossman inbox --watch shows what it asks you`)
}

// join lists words in a sentence.
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
