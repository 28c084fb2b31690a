package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardcli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskImport() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Import tasks from an export", Args: cobra.ExactArgs(1),
		Long: `Import reads the file of an export or an archive; - is standard input. In an empty project
tasks keep their numbers; otherwise they get new ones, and old and new ids are printed. What
was archived from the same board gets its numbers back; several archives of a project may be
read in a row (cat *.gz). A board that has no project yet gets that of the file; its policy,
lease and skills count where the configuration has none, and are printed. Repeating the
import adds only what is missing. No task is handed out until all are imported; tasks that
were in progress are ready again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			text, err := a.ReadFile(ctx, args[0])
			if err := cmp.Or(a.RefuseAgent(), err); err != nil { // an export says who people are, and what was observed
				return fmt.Errorf("read the export: %w", err)
			}
			lines, err := boardcli.ReadArchive(a.Console, args[0], text)
			if err != nil {
				return err
			}
			source, err := boardcli.ReadSource(lines)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			s, err := a.settings()
			if err != nil {
				return err
			}
			set := map[string]string{}
			o, err := a.openWith(ctx, s, func(home *board.Project) { set = adopt(home, source.Project, s) })
			if err != nil {
				return err
			}
			slug := o.slug
			if slug == "" {
				slug = source.Project.Slug
			}
			b, err := o.localBoard()
			if err != nil {
				return err
			}
			if o.server && !slices.ContainsFunc(o.projects, func(p board.Project) bool { return p.Slug == slug }) {
				home := s.HomeProject(slug)
				set = adopt(home, source.Project, s)
				if err := b.SetProject(ctx, *home); err != nil {
					return err
				}
			}
			out, err := b.Import(ctx, a.actor(), slug, lines, a.importProgress())
			if err != nil {
				return console.WithNext(fmt.Errorf("import %s: %w", args[0], err), importAdvice(out))
			}
			return a.showImported(out, set)
		},
	}
}

// adopt makes the project of an export that of a board that has none yet. What the
// configuration says stands: anybody can write an export. It returns what the file sets.
func adopt(home *board.Project, file board.Project, s *config.Settings) map[string]string {
	if !s.IsSet("project") {
		home.Slug, home.Name = file.Slug, file.Name
	}
	set := map[string]string{}
	if !s.IsSet("policy") {
		home.Policy, set["policy"] = file.Policy, string(file.Policy)
	}
	if !s.IsSet("lease") && file.Lease > 0 {
		home.Lease, set["lease"] = file.Lease, file.Lease.String()
	}
	if !s.IsSet("skills") && len(file.Skills) > 0 {
		home.Skills, set["skills"] = file.Skills, strings.Join(file.Skills, ", ")
	}
	return set
}

func importAdvice(out board.Imported) string {
	if out.Made == 0 {
		return "nothing was imported"
	}
	return fmt.Sprintf("%s were imported as drafts; repeat the command to continue", console.Count(out.Made, "task"))
}

// importProgress returns a function that shows the progress of an import; it may be called
// for every task.
func (a *app) importProgress() func(done, all int) {
	p := a.Progress()
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

// showImported says what was imported, and what the file has set for a new project.
func (a *app) showImported(out board.Imported, set map[string]string) error {
	from := slices.SortedFunc(maps.Keys(out.Tasks), func(x, y board.ID) int { return int(x.No - y.No) })
	if a.JSON {
		shown := struct {
			Project     string            `json:"project"`
			Imported    int               `json:"imported"`
			Known       int               `json:"known"`
			NumbersKept bool              `json:"numbers_kept"`
			Tasks       map[string]string `json:"tasks"`
			Questions   map[string]string `json:"questions"`
			Set         map[string]string `json:"set,omitzero"`
		}{out.Project, out.Made, len(out.Tasks) - out.Made, out.Kept, map[string]string{}, map[string]string{}, set}
		for _, id := range from {
			shown.Tasks[id.String()] = out.Tasks[id].String()
		}
		for old, id := range out.Questions {
			shown.Questions[old.String()] = id.String()
		}
		return a.PrintJSON(shown)
	}
	a.Linef("%s imported into %s, %d already there.", console.Count(out.Made, "task"), out.Project, len(out.Tasks)-out.Made)
	for _, key := range slices.Sorted(maps.Keys(set)) {
		a.Field("", console.Text("The file sets the "+key+" of the new project:"), console.Text(set[key]))
		a.Linef("To change it: bossman project set --%s", strings.TrimSuffix(key, "s"))
	}
	if out.Kept {
		return nil
	}
	for _, id := range from {
		a.Linef("%v → %v", id, out.Tasks[id])
	}
	return nil
}
