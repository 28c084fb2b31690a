package main

import (
	"context"
	"errors"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) personCommand() *cobra.Command {
	return group("person", "List, disable and enable people", a.personList(),
		a.personSwitch("disable NAME", "Reject all keys and tokens of a person until enabled again", "%s is disabled.", true),
		a.personSwitch("enable NAME", "Accept the keys and tokens of a person again", "%s is enabled. Revoked keys stay revoked.", false))
}

func (a *app) personList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List people who own a key or have used a token", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := a.openLocal(cmd.Context())
			if err != nil {
				return err
			}
			people, err := o.keys.People(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				list := []personJSON{}
				for _, p := range people {
					list = append(list, toPerson(p))
				}
				return a.PrintJSON(struct {
					People []personJSON `json:"people"`
				}{list})
			}
			if len(people) == 0 {
				a.Linef("Nobody yet.")
				return nil
			}
			var rows []console.Row
			for _, p := range people {
				state := ""
				if !p.Disabled.IsZero() {
					state = "disabled " + boardtext.Ago(time.Now(), p.Disabled)
				}
				rows = append(rows, console.Row{console.Cyan.Cell(p.Name), console.Text(console.Count(p.Keys, "key")), console.Yellow.Cell(state)})
			}
			a.Table("", []console.Column{{Head: "PERSON", Flex: true}, {Head: "KEYS"}, {Head: ""}}, rows)
			return nil
		},
	}
}

func (a *app) personSwitch(use, short, done string, disable bool) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.RefuseAgent(); err != nil {
				return err
			}
			o, err := a.openLocal(ctx)
			if err != nil {
				return err
			}
			change := o.keys.EnablePerson
			if disable {
				change = o.keys.DisablePerson
			}
			if err := change(ctx, args[0]); errors.Is(err, auth.ErrNotFound) {
				return console.Errorf(console.NotFound, "bossman person list lists the people", "there is no person %s", args[0])
			} else if err != nil {
				return err
			}
			var released []board.ID
			if disable {
				principals, err := o.keys.Principals(ctx, args[0])
				if err != nil {
					return err
				}
				if released, err = o.local.Dismiss(ctx, a.actor(), args[0]+" was disabled", principals...); err != nil {
					return err
				}
			}
			if a.JSON {
				return a.printPerson(ctx, o, args[0])
			}
			a.Linef(done+"%s", console.OneLine(args[0]), boardtext.Released(released))
			return nil
		},
	}
}

func (a *app) printPerson(ctx context.Context, o *openBoard, name string) error {
	people, err := o.keys.People(ctx)
	if err != nil {
		return err
	}
	for _, p := range people {
		if p.Name == name {
			return a.PrintJSON(toPerson(p))
		}
	}
	return nil
}

type personJSON struct {
	Name       string     `json:"name"`
	Keys       int        `json:"keys"`
	CreatedAt  time.Time  `json:"created_at"`
	DisabledAt *time.Time `json:"disabled_at,omitzero"`
}

func toPerson(p auth.Person) personJSON {
	return personJSON{Name: p.Name, Keys: p.Keys, CreatedAt: p.Created.UTC(), DisabledAt: boardjson.Time(p.Disabled)}
}
