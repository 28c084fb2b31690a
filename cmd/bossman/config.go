package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	var origin bool
	show := &cobra.Command{
		Use: "show", Short: "Show the configuration in effect", Args: cobra.NoArgs,
		Long: `Show prints every value in effect. What counts first: flags, then variables
(BOSSMAN_BOARD, BOSSMAN_DB, BOSSMAN_PROJECT, BOSSMAN_POLICY, BOSSMAN_AREAS,
BOSSMAN_SKILLS, BOSSMAN_LEASE), then .bossman/config.toml in the project, then your own
file, $XDG_CONFIG_HOME/bossman/config.toml.

A project's file may set board, project, policy, areas, skills and lease. Whatever
runs a command, such as notify, is taken from your own file alone.`,
		RunE: func(*cobra.Command, []string) error {
			s, p, err := a.settle()
			if s == nil {
				return err
			}
			none, _ := errors.AsType[*noPlaceError](err)
			if a.JSON {
				return a.configJSON(s, p, none)
			}
			var rows []console.Row
			for _, k := range settingKeys {
				rows = append(rows, console.Row{console.Cyan.Cell(k.name), console.Text(shown(k.get(s))), console.Dim.Cell(originOf(s.Origin[k.name], origin))})
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
	show.Flags().BoolVar(&origin, "origin", false, "say where each value came from")
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

func (a *app) configJSON(s *settings, p place, none *noPlaceError) error {
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
	for _, k := range settingKeys {
		out.Values[k.name] = valueJSON{Value: k.get(s), Origin: s.Origin[k.name]}
	}
	return a.PrintJSON(out)
}
