package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	var origin bool
	show := &cobra.Command{
		Use: "show", Short: "Show the configuration in effect", Args: cobra.NoArgs,
		Long: `Show prints every value in effect. Precedence: flags, then environment variables
(BOSSMAN_BOARD, BOSSMAN_DB, BOSSMAN_PROJECT, BOSSMAN_POLICY, BOSSMAN_AREAS,
BOSSMAN_SKILLS, BOSSMAN_LEASE), then .bossman/config.toml in the project, then your own
file, $XDG_CONFIG_HOME/bossman/config.toml.

A project's file may set board, project, policy, areas, skills and lease. A key that
runs a command, such as notify, is read from your own file only.`,
		RunE: func(*cobra.Command, []string) error {
			s, err := config.Load(a.flags, a.Getenv)
			if err != nil {
				return err
			}
			p, err := s.Location()
			none, _ := errors.AsType[*config.NoBoardError](err)
			if a.JSON {
				return a.configJSON(s, p, none)
			}
			var rows []console.Row
			for _, k := range config.Keys() {
				rows = append(rows, console.Row{console.Cyan.Cell(k.Name), console.Text(shown(k.Value(s))), console.Dim.Cell(originOf(s.Origin[k.Name], origin))})
			}
			if check, from := s.ShownCheck(); check != "" {
				rows = append(rows, console.Row{console.Cyan.Cell("check"), console.Text(check), console.Dim.Cell(originOf(from, origin))})
			}
			where := p.Path
			if none != nil {
				where = "(none)"
			}
			rows = append(rows, console.Row{console.Cyan.Cell("file"), console.Text(where), console.Dim.Cell(originOf(p.By, origin))})
			a.Table("", []console.Column{{Head: "KEY"}, {Head: "VALUE"}, {Head: map[bool]string{true: "ORIGIN"}[origin]}}, rows)
			for _, text := range s.Ignored {
				a.Infof("ignored: %s", text)
			}
			if none != nil {
				a.Infof("%v", none)
			}
			return nil
		},
	}
	show.Flags().BoolVar(&origin, "origin", false, "show where each value came from")
	return group("config", "Show the configuration", show)
}

func originOf(origin string, show bool) string {
	if !show {
		return ""
	}
	return origin
}

func shown(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, " ")
	}
	return fmt.Sprint(v)
}

type valueJSON struct {
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

func (a *app) configJSON(s *config.Settings, p config.Location, none *config.NoBoardError) error {
	out := struct {
		Values  map[string]valueJSON `json:"values"`
		File    string               `json:"file"`
		From    string               `json:"from"`
		By      string               `json:"by"`
		Ignored []string             `json:"ignored"`
	}{Values: map[string]valueJSON{}, File: p.Path, From: p.From, By: p.By, Ignored: s.Ignored}
	if none != nil {
		out.From, out.By = none.From, none.By
	}
	for _, k := range config.Keys() {
		out.Values[k.Name] = valueJSON{Value: k.Value(s), Origin: s.Origin[k.Name]}
	}
	if check, from := s.ShownCheck(); check != "" {
		out.Values["check"] = valueJSON{Value: check, Origin: from}
	}
	return a.PrintJSON(out)
}
