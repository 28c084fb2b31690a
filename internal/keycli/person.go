package keycli

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

func (c *cli) personList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List people who own a key or have used a token", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.open(cmd.Context())
			if err != nil {
				return err
			}
			people, err := d.Keys.People(cmd.Context())
			if err != nil {
				return err
			}
			if c.JSON {
				list := []personJSON{}
				for _, p := range people {
					list = append(list, toPerson(p))
				}
				return c.PrintJSON(struct {
					People []personJSON `json:"people"`
				}{list})
			}
			if len(people) == 0 {
				c.Linef("Nobody yet.")
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
			c.Table("", []console.Column{{Head: "PERSON", Flex: true}, {Head: "KEYS"}, {Head: ""}}, rows)
			return nil
		},
	}
}

func (c *cli) personSwitch(use, short, done string, disable bool) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := c.RefuseAgent(); err != nil {
				return err
			}
			d, err := c.open(ctx)
			if err != nil {
				return err
			}
			before, err := d.Board.Claims(ctx, board.ClaimFilter{})
			if err != nil {
				return err
			}
			change := d.Keys.EnablePerson
			if disable {
				change = d.Keys.DisablePerson
			}
			if err := change(ctx, args[0]); errors.Is(err, auth.ErrNotFound) {
				return console.Errorf(console.NotFound, "bossman person list lists the people", "there is no person %s", args[0])
			} else if err != nil {
				return err
			}
			var released []board.ID
			if disable {
				principals, err := d.Keys.Principals(ctx, args[0])
				if err != nil {
					return err
				}
				if released, err = d.dismiss(ctx, args[0]+" was disabled", principals, before); err != nil {
					return err
				}
			}
			if c.JSON {
				return c.printPerson(ctx, d, args[0])
			}
			c.Linef(done+"%s", console.OneLine(args[0]), boardtext.Released(released))
			return nil
		},
	}
}

func (c *cli) printPerson(ctx context.Context, d *Desk, name string) error {
	people, err := d.Keys.People(ctx)
	if err != nil {
		return err
	}
	for _, p := range people {
		if p.Name == name {
			return c.PrintJSON(toPerson(p))
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
