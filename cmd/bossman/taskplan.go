package main

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/planfile"
	"github.com/spf13/cobra"
)

func (a *app) taskPlan() *cobra.Command {
	var dryRun, draft, again bool
	var key string
	cmd := &cobra.Command{
		Use: "plan FILE", Short: "Create several tasks at once, all or none", Args: cobra.ExactArgs(1),
		Long: `Plan reads tasks from a file, or from standard input if it is -. The file is a
Markdown checklist, or the JSON of the tool create_plan.

  # The goal
  - [ ] Write the schema {key: schema, priority: high}
        Lines below an item are its description.
  - [ ] Build the API {key: api, after: schema}
    - [ ] Sign in          (a part of "Build the API")
    - [ ] Sign out
  - [x] Ticked items are skipped.

Braces may contain key, after, priority, skills, areas, evidence, acceptance and
draft. A part also waits for everything that its parent comes after. Cycles are
rejected; the error shows the path. A plan has at most 500 tasks, and 1 MiB.

Reading the same file again creates nothing. After an edit of the file, only the items
that are new are created: an item is known by its title, the titles above it, and the
goal. The tasks that are there do not change; use bossman task edit.`,
		Example: "  bossman task plan plan.md --dry-run\n  bossman task plan plan.json --draft",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			text, err := a.ReadFile(ctx, args[0], planfile.MaxFile)
			if err != nil {
				return fmt.Errorf("read the plan: %w", err)
			}
			plan, err := planfile.Parse(text)
			if err != nil {
				return console.WithNext(fmt.Errorf("%w: %s: %w", board.ErrInvalid, args[0], err), "bossman task plan --help shows what a plan looks like")
			}
			o, slug, err := a.openProject(ctx)
			if err != nil {
				return err
			}
			plan.Project = slug
			plan.Hold = plan.Hold || draft
			plan.DryRun = plan.DryRun || dryRun
			if key != "" {
				plan.Key = key
			}
			for i := range plan.Tasks {
				if again {
					plan.Tasks[i].Item = ""
				}
			}
			made, err := o.CreatePlan(ctx, a.actor(), plan)
			if err != nil {
				return err
			}
			return a.showPlanned(made)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "check everything and create nothing")
	cmd.Flags().BoolVar(&draft, "draft", false, "create drafts, so that none is handed out until somebody starts it")
	cmd.Flags().BoolVar(&again, "again", false, "create all tasks, also those that this plan has created before")
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: repeating the command with it creates nothing twice")
	return cmd
}

type plannedJSON struct {
	Key   string   `json:"key"`
	ID    string   `json:"id,omitzero"`
	Title string   `json:"title"`
	After []string `json:"after"`
	Ready bool     `json:"ready"`
	// Existed: an earlier run created it.
	Existed bool `json:"existed,omitzero"`
}

func (a *app) showPlanned(p board.Planned) error {
	if a.JSON {
		out := struct {
			Tasks        []plannedJSON `json:"tasks"`
			LongestChain int           `json:"longest_chain"`
			Draft        bool          `json:"draft"`
			DryRun       bool          `json:"dry_run"`
		}{LongestChain: p.Longest, Draft: p.Held, DryRun: p.DryRun}
		for _, t := range p.Tasks {
			out.Tasks = append(out.Tasks, plannedJSON{t.Key, t.ID.String(), t.Title, t.After, t.Ready, t.Existed})
		}
		return a.PrintJSON(out)
	}
	var rows []console.Row
	ready, existed := 0, 0
	ids := map[string]string{}
	for _, t := range p.Tasks {
		if !t.ID.IsZero() {
			ids[t.Key] = t.ID.String()
		}
	}
	for _, t := range p.Tasks {
		state := boardtext.StateCell(board.StateBlocked)
		switch {
		case t.Existed:
			state.Text = "there already"
			existed++
		case t.Ready:
			state = boardtext.StateCell(board.StateReady)
			ready++
		case p.Held:
			state = boardtext.StateCell(board.StateDraft)
		}
		var after []string
		for _, name := range t.After {
			if id, ok := ids[name]; ok {
				name = id
			}
			after = append(after, name)
		}
		name := t.ID.String()
		if name == "" {
			name = t.Key
		}
		text := ""
		if len(after) > 0 {
			text = "after " + strings.Join(after, ", ")
		}
		rows = append(rows, console.Row{console.Cyan.Cell(name), state, console.Text(t.Title), console.Dim.Cell(text)})
	}
	a.Table("", []console.Column{{}, {}, {Flex: true}, {Drop: 1}}, rows)
	foot := fmt.Sprintf("%s, %d ready now, longest chain %d.", console.Count(len(p.Tasks)-existed, "new task"), ready, p.Longest)
	if existed == 0 {
		foot = fmt.Sprintf("%s, %d ready now, longest chain %d.", console.Count(len(p.Tasks), "task"), ready, p.Longest)
	}
	switch {
	case existed == len(p.Tasks):
		foot = "Nothing was created: this plan was read before, and all its tasks are there. To create them again: --again"
	case p.DryRun:
		foot += " Nothing was created."
	case p.Held:
		foot += " All are drafts; start one with: bossman task start ID"
	}
	a.Linef("%s", a.Styled(console.Dim, foot))
	return nil
}
