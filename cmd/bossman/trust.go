package main

import (
	"strings"
	"time"

	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) trustCommand() *cobra.Command {
	var yes, revoke bool
	cmd := &cobra.Command{
		Use: "trust", Short: "Read and accept the commands that this repository brings", Args: cobra.NoArgs,
		Long: `Trust shows the check in the project's .bossman/config.toml and asks whether Bossman
may run it. Until you accept it, it does not run.

A check runs at every report of "done", on this machine, outside the agent's sandbox and
with your rights, and it runs code that an agent has written. What you accept is stored
outside the repository and stays in force as you read it: a later change of the file, on
whatever branch, has no effect until you run this command again.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.RefuseAgent(); err != nil {
				return err
			}
			s, err := a.settings()
			if err != nil {
				return err
			}
			if _, err := s.Location(); err != nil {
				return err
			}
			state, err := s.Check()
			if err != nil {
				return err
			}
			if revoke {
				return a.revokeTrust(state)
			}
			return a.acceptTrust(cmd, state, yes)
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
	Accepted bool     `json:"accepted"`
}

func (a *app) acceptTrust(cmd *cobra.Command, state config.CheckState, yes bool) error {
	answer := trustJSON{File: state.File, InForce: checkLines(state.InForce), Proposed: checkLines(state.Proposed)}
	if state.Proposed == nil {
		answer.Accepted = state.Trust.Check != nil
		if a.JSON {
			return a.PrintJSON(answer)
		}
		switch {
		case state.Withdrawn:
			a.Linef("%s has no [check]. The one that %s accepted stays in force:", state.File, state.Trust.By)
			a.showCheck(state.InForce)
			a.Linef("To withdraw it: bossman trust --revoke")
		case state.Trust.Check != nil:
			a.Linef("Nothing to accept: the check is as %s accepted it.", state.Trust.By)
			a.showCheck(state.InForce)
		default:
			a.Linef("Nothing to accept: %s has no [check].", state.File)
		}
		return nil
	}
	if !yes || !a.JSON {
		a.Linef("The check in %s:", state.File)
		a.showCheck(state.Proposed)
		if old := state.Moved; old != nil {
			a.Linef("%s accepted a check when this repository was %s:", old.By, old.Repository)
			a.showCheck(old.Check)
		}
		if old := state.Trust.Check; old != nil {
			a.Linef("In force until you accept it:")
			a.showCheck(old)
		}
	}
	if !yes {
		if !console.IsTerminal(a.Stdin) {
			return console.Errorf(console.Denied, "run it in a terminal, or read the check above and add --yes", "nobody was asked: standard input is not a terminal")
		}
		a.Linef("It will run at every report of \"done\", with your rights and outside any sandbox of the agent.")
		line, err := a.Prompt(cmd.Context(), "Accept it? [y/N] ")
		if err != nil {
			return err
		}
		if s := strings.ToLower(line); s != "y" && s != "yes" {
			return console.Errorf(console.Denied, "", "not accepted; nothing has changed")
		}
	}
	if err := state.Trust.Accept(state.Proposed, a.userName(), time.Now()); err != nil {
		return err
	}
	answer.InForce, answer.Accepted = checkLines(state.Proposed), true
	if a.JSON {
		return a.PrintJSON(answer)
	}
	a.Linef("Accepted. Reports of done are now checked with it.")
	return nil
}

func (a *app) revokeTrust(state config.CheckState) error {
	if state.Trust.Check == nil && state.Moved == nil {
		return console.Errorf(console.NothingToDo, "", "nothing was accepted here")
	}
	if err := state.Trust.Accept(nil, a.userName(), time.Now()); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(trustJSON{File: state.File})
	}
	a.Linef("Withdrawn. The repository's check does not run any more.")
	return nil
}

// showCheck writes a check as its file has it.
func (a *app) showCheck(c *config.Check) {
	for _, line := range checkLines(c) {
		a.Linef("  %s", line)
	}
}

func checkLines(c *config.Check) []string {
	if c == nil {
		return nil
	}
	return c.Lines()
}
